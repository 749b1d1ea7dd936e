"""What is released: the wheel holds what it should and nothing else, and the sdist what the wheel is built from.

`python -m tests.house.dist FOLDER`, where the folder has one of each.
"""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from tests.house.measure import PACKAGES, ROOT

ENTRY_POINTS = (
    "converse = converse_harness.plugin",
    "converse = converse_strategies.entry:register",
    "converse-harness = converse_harness.cli:main",
)
API = "converse_harness/server/control/openapi.json"
HELPERS = tuple(f"converse_harness/features/vitest/{name}" for name in ("converse.ts", "converse-api.d.ts"))
VIEWER = tuple(f"converse_harness/features/report/view/{name}" for name in ("view.css", "view.js"))
LIVE = "converse_harness/features/report/live/live.js"
NAMES = tuple(f"converse_harness/{package}/__init__.pyi" for package in ("faults", "cases"))
ONLY_SITE = re.compile(r"converse_harness/docs/(?:_site/|api/|matrix/|matrix-(?:cases|grid)\.|conf\.py|.*\.rst$)")
NOT_SENT = (".ci", ".github")
"""What only a clone needs."""
SENT = {"LICENSE", "README.md", "CHANGELOG.md", "conftest.py", "pyproject.toml"}


def problems(wheel: Path, sdist: Path) -> list[str]:
    """What is missing, and what should not be there."""
    about = f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entry_points = archive.read(f"{about}/entry_points.txt").decode().splitlines()
    with tarfile.open(sdist) as sources:
        sent = {name.partition("/")[2] for name in sources.getnames()}
    # git's list, because a build of the site leaves its own pages in docs/.
    kept = subprocess.check_output(["git", "ls-files", "docs"], cwd=ROOT, text=True).splitlines()
    pages = [f"converse_harness/{name}" for name in kept if name.endswith((".md", ".html"))]
    only_site = [name for name in names if ONLY_SITE.match(name)]
    needed = {f"{about}/licenses/LICENSE", API, LIVE, *HELPERS, *VIEWER, *pages, *NAMES}
    needed |= {f"{package}/{name}" for package in PACKAGES for name in ("py.typed", "__init__.pyi")}
    known = {*PACKAGES, about}
    return [
        *(f"{name} is missing from the wheel" for name in sorted(needed - names)),
        *(f"{name} is in the wheel" for name in sorted(names) if name.partition("/")[0] not in known),
        *(f"{name} is in the wheel, and only the site needs it" for name in sorted(only_site)),
        *(f"the wheel's entry points lack {line!r}" for line in ENTRY_POINTS if line not in entry_points),
        *(f"{name} is missing from the sdist" for name in sorted(SENT - sent)),
        *(f"{name} is in the sdist" for name in sorted(sent) if name.partition("/")[0] in NOT_SENT),
    ]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    sys.exit("; ".join(problems(wheel, sdist)) or None)
