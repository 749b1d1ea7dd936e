"""Type checkers and editors know the names of all faults; run as a script, this file writes the stub with them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from converse_harness import faults
from converse_harness.faults.order import OrderFault

STUB: Final = Path(faults.__path__[0], "__init__.pyi")
WRITE: Final = "python -m tests.faults.test_fault_names"

HEAD: Final = f"""\
# The declarations of the named faults for type checkers. Made by `{WRITE}`.

from collections.abc import Mapping
from typing import Final

from converse_harness.faults.model import Fault as Fault
from converse_harness.faults.order import OrderFault

FAULTS: Final[Mapping[str, Fault]]
NOT_SENDABLE: Final[Mapping[str, str]]
"""


def stub() -> str:
    """The stub that declares each fault."""
    in_order = [name for name, fault in faults.FAULTS.items() if isinstance(fault, OrderFault)]
    others = [name for name in faults.FAULTS if name not in in_order]
    parts = [
        HEAD,
        "# Faults in the order of events and in unions.\n",
        *(f"{name}: Final[OrderFault]" for name in in_order),
    ]
    parts += ["", "# Faults in the bytes of frames, in the HTTP response and of the connection.\n"]
    return "\n".join([*parts, *(f"{name}: Final[Fault]" for name in others), ""])


def test_type_checkers_know_the_names_of_all_faults() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), f"faults/__init__.pyi is behind; write it with: {WRITE}"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
