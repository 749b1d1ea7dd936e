"""Write the line of code that scripts a damaged reply. Users can paste this line into a test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from converse_harness.reply.body import BareBody, written
from converse_harness.reply.reply import Reply

_LONGEST: Final = 200
"""The maximum length, in characters, of a value in the line of code. The user must replace `...`, which stands for a
longer value."""


_MESSAGE_LAST: Final = ("error", "fails_after")
"""The functions of `reply` and methods of Reply whose last argument is a message. The code leaves this argument out,
because chaos always uses the default message."""


def code_of(answer: Reply) -> str:
    """Return one line of code that makes a reply; "..." for a reply that is known only as bytes."""
    if isinstance(answer.body, BareBody):
        return "..."
    calls = written(answer.body, answer.failure, answer.placements, answer.pace, 1)
    return "reply." + ".".join(_call(*each) for each in calls)


def script_of(before: Sequence[Reply], damaged: Reply) -> str:
    """Return the line of code that scripts the replies `before` and then the reply `damaged`."""
    return f"converse.script({', '.join(map(code_of, (*before, damaged)))})"


def _call(name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> str:
    match name, list(arguments), dict(options):
        case "message", [{"toolUse": {"name": tool, "input": given, **more}}], {} as rest if not more and not rest:
            name, arguments = "tool_use", [tool, given]
        case _:
            pass
    if name in _MESSAGE_LAST:
        arguments = arguments[:-1]
    given = [_value(each) for each in arguments] + [f"{name}={_value(value)}" for name, value in options.items()]
    return f"{name}({', '.join(given)})"


def _value(value: Any) -> str:
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
    elif issubclass(type(value), dict):
        text = f"{{{', '.join(f'{_value(name)}: {_value(member)}' for name, member in value.items())}}}"
    elif issubclass(type(value), list):
        text = f"[{', '.join(map(_value, value))}]"
    else:
        text = repr(value)
    return text if len(text) <= _LONGEST else "..."
