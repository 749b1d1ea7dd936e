"""Write values, calls and replies as Python source. The evaluated source equals the original value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any, Final, cast

from converse_harness.bedrock.families import usual
from converse_harness.faults.model import Fault
from converse_harness.json_values import is_object
from converse_harness.reply.body import BareBody, Call, MessageBody, written
from converse_harness.reply.plan import Plan
from converse_harness.reply.reply import Reply

WIDTH: Final = 88
"""The maximum length of a line that has several arguments: the default of ruff and black."""


class Unwritable(ValueError):
    """Raised for a value that cannot be written as source, for example an argument whose name is not an identifier."""


def source_of(value: object) -> str:
    """Return the source of a value on one line: JSON in Python's types, bytes or a Fault.

    Raises Unwritable for a value that cannot be written as source.

    >>> source_of({"city": "Zürich", "days": [1, None]})
    '{"city": "Zürich", "days": [1, None]}'
    """
    match value:
        case str():
            return _quoted(value)
        case bytes():
            return _quoted(value.decode("latin-1"), "b")
        case dict():
            members = cast("Mapping[object, object]", value)
            return "{" + ", ".join(f"{source_of(key)}: {source_of(item)}" for key, item in members.items()) + "}"
        case list():
            return "[" + ", ".join(map(source_of, cast("Sequence[object]", value))) + "]"
        case None | bool() | int() | Fault():
            return repr(value)
        case float() if value - value == 0:  # infinity and nan have no literal
            return repr(value).replace("e+", "e")
        case _:
            raise Unwritable(f"{type(value).__name__} has no source")


def chain_source(calls: Sequence[Call], *, indent: int = 0, width: int = WIDTH) -> str:
    """Return the source of calls in a chain, with `reply.` before the first call and "." before each other call.

    A chain that is longer than `width` has one argument a line; its lines after the first are indented by at least
    `indent` columns. Raises Unwritable for a value that cannot be written as source.

    >>> chain_source([("text", ("hi",), {}), ("times", (2,), {})])
    'reply.text("hi").times(2)'
    """
    written = [(name, [*_arguments(positional, named)]) for name, positional, named in calls]
    flat = "reply." + ".".join(f"{name}({', '.join(arguments)})" for name, arguments in written)
    if indent + len(flat) <= width:
        return flat
    margin = "\n" + " " * indent
    return "reply." + ".".join(
        f"{name}({''.join(f'{margin}    {each},' for each in arguments)}{margin if arguments else ''})"
        for name, arguments in written
    )


def _arguments(positional: Sequence[object], named: Mapping[str, object]) -> Iterator[str]:
    yield from map(source_of, positional)
    for name, value in named.items():
        if not name.isidentifier() or iskeyword(name):
            raise Unwritable(f"{name!r} is no name of an argument")
        yield f"{name}={source_of(value)}"


def _quoted(text: str, prefix: str = "") -> str:
    """Return `prefix` and the literal of a text.

    The literal is in double quotes, or in single quotes if these need fewer escapes.
    """
    quote = "'" if text.count('"') > text.count("'") else '"'
    made = "".join(_escaped(each, quote, is_bytes=bool(prefix)) for each in text)
    return f"{prefix}{quote}{made}{quote}"


def _escaped(character: str, quote: str, *, is_bytes: bool) -> str:
    if character == quote:
        return f"\\{quote}"
    if character != "\\" and (" " <= character <= "~" or (character.isprintable() and not is_bytes)):
        return character
    return character.encode("unicode_escape").decode()


_MESSAGE_LAST: Final = ("error", "fails_after", "error_frame_after")
"""The functions of `reply` and methods of Reply whose last argument is a message. The usual message is left out."""


def code_of(answer: Reply, *, longest: int | None = None) -> str:
    """Return one line of code that makes a reply; "..." for a reply that is known only as bytes.

    Texts above `longest` characters are cut, so that such a line makes another reply.

    >>> from converse_harness import reply
    >>> code_of(reply.reasoning("Hm.", reply.tool_use("get_weather", {"city": "Bern"})).times(2))
    'reply.reasoning("Hm.", reply.tool_use("get_weather", {"city": "Bern"})).times(2)'
    """
    if isinstance(answer.plan.body, BareBody):
        return "..."
    calls = written(answer.plan.body, answer.plan.failure, answer.plan.placements, answer.plan.pace, answer.uses)
    optional = ".optional()" if answer.may_be_unused else ""
    return "reply." + ".".join(_call_code(*each, longest) for each in calls) + optional


def script_code(replies: Iterable[Reply], *, longest: int | None = None) -> str:
    """Return the line of code that scripts these replies; a reply that repeats the one before is counted with `times`.

    >>> from converse_harness import reply
    >>> script_code([reply.throttled(), reply.throttled(), reply.text("hi")])
    'converse.script(reply.error("ThrottlingException").times(2), reply.text("hi"))'
    """
    several: list[Reply] = []
    codes: list[str] = []
    for each in replies:
        code = code_of(each.times(1), longest=longest)
        if codes and codes[-1] == code != "..." and not several[-1].may_be_unused and not each.may_be_unused:
            several[-1] = several[-1].times(several[-1].uses + each.uses)
        else:
            codes.append(code)
            several.append(each)
    return f"converse.script({', '.join(code_of(each, longest=longest) for each in several)})"


def _call_code(name: str, arguments: Sequence[Any], options: Mapping[str, Any], longest: int | None) -> str:
    if name == "message" and not options:
        name, arguments, options = _short(arguments)
    if name in _MESSAGE_LAST:  # clients read these messages, so they are left out or whole
        arguments = arguments[:-1] if arguments[-1] == usual(_shape(arguments[-2])) else arguments
        given = [_value_code(each, None) for each in arguments]
    else:
        given = [_value_code(each, longest) for each in arguments]
    given += [f"{name}={_value_code(value, longest)}" for name, value in options.items()]
    return f"{name}({', '.join(given)})"


def _short(blocks: Sequence[Any]) -> Call:
    """Return a shorter call than `message` for tool uses, with or without a text before them; else `message`."""
    first = blocks[0].get("text") if blocks and len(blocks[0]) == 1 else None
    before = {} if first is None else {"text": first}
    tools = [block.get("toolUse") for block in blocks[len(before) :]]
    if tools and all(is_object(tool) and {*tool} == {"name", "input"} for tool in tools):
        given = [(tool["name"], tool["input"]) for tool in tools]
        return ("tool_use", given[0], before) if len(given) == 1 else ("tool_uses", given, before)
    match tools:
        case [{"name": name, "input": given, "toolUseId": use_id, **more}] if not more:
            return "tool_use", (name, given), {**before, "id": use_id}
        case _:
            return "message", blocks, {}


def _shape(name: str) -> str:
    return name[:1].upper() + name[1:]


def _value_code(value: object, longest: int | None) -> str:
    """Return the code of a value. It stays on one line, and a long text in it is cut."""
    if isinstance(value, MessageBody):  # the second argument of `reasoning`
        return code_of(Reply(Plan(value)), longest=longest)
    if isinstance(value, tuple):  # an argument of `tool_uses`
        items = cast("Sequence[object]", value)
        return f"({', '.join(_value_code(each, longest) for each in items)})"
    try:
        return source_of(value if longest is None else _with_cut_texts(value, longest))
    except Unwritable:
        return repr(value)


def _with_cut_texts(value: object, longest: int) -> object:
    match value:
        case str():
            return value if len(value) <= longest else f"{value[:longest]}..."
        case dict():
            members = cast("Mapping[object, object]", value)
            return {
                _with_cut_texts(name, longest): _with_cut_texts(member, longest) for name, member in members.items()
            }
        case list():
            return [_with_cut_texts(each, longest) for each in cast("Sequence[object]", value)]
        case _:
            return value
