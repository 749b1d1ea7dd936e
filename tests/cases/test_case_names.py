"""Type checkers and editors know the names of all cases; run as a script, this file writes the stub with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from converse_harness import bedrock, cases
from converse_harness.cases.catalogue import FAMILIES

STUB: Final = Path(cases.__path__[0], "__init__.pyi")
WRITE: Final = "python -m tests.cases.test_case_names"

HEAD: Final = f"""\
# The names of the cases for type checkers. Made by `{WRITE}` with botocore {{}}.

from typing import Final

from converse_harness.cases.case import Case as Case
from converse_harness.cases.catalogue import CASES as CASES
from converse_harness.cases.catalogue import UnknownCase as UnknownCase
"""


def stub() -> str:
    """The stub that declares each case, family by family, with those that the installed botocore cannot parse."""
    parts = [HEAD.format(bedrock.botocore_version())]
    for family, make in FAMILIES.items():
        parts += [f"# {family}\n", *(f"{case.name}: Final[Case]" for case in make()), ""]
    return "\n".join(parts)


def names(text: str) -> list[str]:
    return re.findall(r"^(\w+): Final\[Case\]$", text, re.MULTILINE)


def test_type_checkers_know_the_names_of_all_cases() -> None:
    written, expected = STUB.read_text(encoding="utf-8"), stub()
    assert names(expected) == [*dict.fromkeys(names(expected))]
    assert {*cases.CASES} <= {*names(expected)}
    if f"botocore {bedrock.botocore_version()}." in written:
        assert written == expected, f"cases/__init__.pyi is behind; write it with: {WRITE}"
    else:  # an older botocore knows fewer stop reasons, errors and locations, a newer one may know more
        known, there = {*names(written)}, {*names(expected)}
        assert known <= there or there <= known, f"cases/__init__.pyi is behind; write it with: {WRITE}"


def test_no_case_has_the_name_of_a_module() -> None:
    assert not {path.stem for path in STUB.parent.glob("*.py")} & {*names(stub())}


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
