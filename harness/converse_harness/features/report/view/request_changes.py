"""The request of a call as HTML, compared with an earlier request: new and changed parts, and links to equal ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

from converse_harness.features.report.view.answer import (
    block_html,
    counted,
    folded,
    json_html,
    message_html,
    table_html,
    text_html,
)
from converse_harness.features.report.view.html import Html, element, escape, joined
from converse_harness.features.report.view.view import CallView
from converse_harness.json_values import is_object, json_text, leaves, member_of, object_of, objects_of, path_text
from converse_harness.secrets.mask import common_length

_MOST: Final = 400
"""The maximum number of words or lines that are compared: the time grows with the square of their number.

Equal text at the start and at the end does not count. If more words remain, lines are compared; if more lines remain,
all of them are shown as changed.
"""

_KEPT: Final = 160
"""If an equal part is longer than twice this number of characters, only its two ends are shown."""

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")

_LINES: Final = re.compile(r".*\n|.+")


def sides(was: str, now: str, heads: Sequence[str]) -> Html:
    """Return the HTML of two texts with the titles `heads`: side by side or, on a narrow page, one below the other.

    Text that only `was` has is in `del`, text that only `now` has in `ins`. Long equal parts are shortened.
    """
    old, new, start, end = _ends(_WORDS, was, now)
    if max(len(old), len(new)) - start - end > _MOST:
        old, new, start, end = _ends(_LINES, was, now)
    before, after = _same(old[:start]), _same(old[len(old) - end :])
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    steps: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(old), 0, len(new))]
    if max(len(old), len(new)) <= _MOST:
        steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    left = [_marked("del", kind, old[start:end]) for kind, start, end, _, _ in steps]
    right = [_marked("ins", kind, new[start:end]) for kind, _, _, start, end in steps]
    columns = [
        element("div", element("h6", head), element("pre", before, *content, after, class_="text"))
        for head, content in zip(heads, (left, right), strict=True)
    ]
    return element("div", *columns, class_="sides")


def _ends(units: re.Pattern[str], was: str, now: str) -> tuple[list[str], list[str], int, int]:
    """Split two texts into `units` (words or lines). Return both lists of units, and two numbers.

    The numbers say how many units are equal at the start of both lists, and how many at the end.
    """
    old, new = units.findall(was), units.findall(now)
    start = common_length(old, new)
    return old, new, start, common_length(old[start:][::-1], new[start:][::-1])


def _marked(mark: str, kind: str, words: Sequence[str]) -> Html | None:
    """Return the HTML of some words of a text; None without words.

    Unless `kind` is "equal", the other text lacks these words, and they are put in an element with the name `mark`.
    """
    if kind == "equal":
        return _same(words)
    return element(mark, "".join(words)) if words else None


def _same(words: Sequence[str]) -> Html:
    """Return the HTML of words that both texts have; of many words, only the first and the last characters."""
    text = "".join(words)
    if len(text) <= 2 * _KEPT:
        return escape(text)
    left_out = element("span", f" ... {len(text) - 2 * _KEPT:,} characters ... ", class_="elided")
    return joined([text[:_KEPT], left_out, text[-_KEPT:]])


_LOOKED_BACK: Final = 60
"""At most this number of the latest calls is searched for the earlier request to compare with."""

_NEW: Final = 3
"""The search ends as soon as an earlier request lacks at most this number of the new request's messages."""

_NO_SETTINGS: Final = frozenset({"messages", "system", "toolConfig", "input"})
"""The members of a request body that are not shown as settings."""


def request_html(view: CallView, before: Sequence[CallView], prefix: str) -> Html:
    """Return the HTML of a call's request. Parts that are equal in an earlier call are links to that call.

    `before` are the earlier calls, and `prefix` is the beginning of the ids to which the links lead.
    """
    if view.request is None:
        return element("p", "No body.", class_="none")
    if not is_object(view.request):
        return text_html(view.request) if isinstance(view.request, str) else json_html(view.request)
    base = _base_of(view, before)
    there = None if base is None else _link(base, prefix)
    messages = _messages(view, base, before, prefix)
    return joined([_settings(view, base, there), _system(view, base, there), _tools(view, base, there), messages])


def _base_of(view: CallView, before: Sequence[CallView]) -> CallView | None:
    """Return the call in `before` with which the request of `view` is compared; None if there is none to compare with.

    It is the call that has the most messages in common with `view`, or the latest one if none has any. If there are
    calls with the same operation, only these are considered, otherwise those with messages if `view` has some.
    """
    alike = [each for each in before if each.operation == view.operation]
    if not alike and view.messages:
        alike = [each for each in before if each.messages]
    wanted = set(view.message_keys)
    best, shared = alike[-1] if alike else None, 0
    for each in reversed(alike[-_LOOKED_BACK:]):
        common = len(wanted.intersection(each.message_keys))
        if common > shared:
            best, shared = each, common
        if shared and shared >= len(wanted) - _NEW:
            break
    return best


def _link(view: CallView, prefix: str) -> Html:
    return element("a", f"call {view.number}", href=f"#{prefix}call-{view.number}")


def _part(title: str, *content: str | None, same_as: Html | None = None) -> Html:
    """Return the HTML of a part of a request: its title, and its content, or the link `same_as` to an equal part."""
    if same_as is not None:
        content = (element("span", "as in ", same_as, class_="same"),)
    return element("div", element("h5", title), *content, class_="part")


def _others(now: Mapping[str, Any], was: Mapping[str, Any], thing: str, there: Html) -> Html | None:
    """Return a line that says how many values are equal in `now` and `was`; None if no value is equal.

    Each value is a `thing`, such as "tool". `there` is the link to the earlier call.
    """
    count = sum(was.get(name) == value for name, value in now.items())
    return element("p", f"{counted(count, f'other {thing}')} as in ", there, class_="same") if count else None


def _settings_of(view: CallView) -> dict[str, Any]:
    """Return all values of a request besides messages, system and tools, by their paths."""
    settings = {"modelId": view.model_id} if view.model_id else {}
    body = object_of(view.request)
    for source in (body, view.conversation):
        rest = {name: value for name, value in source.items() if name not in _NO_SETTINGS}
        settings |= {path_text(path): value for path, value in leaves(rest)}
    if not view.conversation.get("messages") and "input" in body:
        settings["input"] = body["input"]
    choice = member_of(view.conversation, "toolConfig", "toolChoice")
    return settings | ({"toolChoice": choice} if choice is not None else {})


def _settings(view: CallView, base: CallView | None, there: Html | None) -> Html | None:
    now, was = _settings_of(view), None if base is None else _settings_of(base)
    if not now and not was:
        return None
    if was is None or there is None:
        return _part("Settings", table_html(("setting", "value"), [_row(name, _value(now[name])) for name in now]))
    if now == was:
        return _part("Settings", same_as=there)
    missing = element("i", "not given")
    rows = [
        _row(name, *(_value(each[name]) if name in each else missing for each in (was, now)))
        for name in dict.fromkeys((*was, *now))
        if was.get(name) != now.get(name) or (name in was) != (name in now)
    ]
    table = table_html(("setting", there, f"call {view.number}"), rows)
    return _part("Settings that changed", table, _others(now, was, "setting", there))


def _value(value: Any) -> Html:
    return text_html(value if isinstance(value, str) and value else json_text(value), "value")


def _row(name: str, *values: Html) -> Html:
    return element("tr", element("th", name, scope="row"), *(element("td", value) for value in values))


def _system(view: CallView, base: CallView | None, there: Html | None) -> Html | None:
    now, was = view.conversation.get("system"), None if base is None else base.conversation.get("system")
    if not now and not was:
        return None
    if there is None or not was:
        return _part("System", *(part for block in objects_of(now) for part in block_html(block, lambda _: None)))
    if now == was:
        return _part("System", same_as=there)
    return _part("System, changed", sides(_texts(was), _texts(now), (there, f"call {view.number}")))


def _texts(blocks: Any) -> str:
    """Return the blocks of a system prompt as one text, which is compared with the text of another call."""
    return "\n".join(str(each["text"]) if "text" in each else json_text(each) for each in objects_of(blocks))


def _named(view: CallView | None) -> dict[str, Any]:
    """Return the tools of a request by their names; a tool without a name by its number, such as "tool 2"."""
    tools = objects_of(None if view is None else member_of(view.conversation, "toolConfig", "tools"))
    return {str(member_of(tool, "toolSpec", "name") or f"tool {at}"): tool for at, tool in enumerate(tools, 1)}


def _tools(view: CallView, base: CallView | None, there: Html | None) -> Html | None:
    now, was = _named(view), _named(base)
    if not now and not was:
        return None
    if there is None or not was:
        return _part("Tools", *(folded(name, _tool(tool), class_="tool") for name, tool in now.items()))
    if now == was:
        moved = ", in another order" if [*now] != [*was] else ""
        return _part(f"Tools{moved}", same_as=there)
    rows = [folded(f"new: {name}", _tool(now[name]), class_="tool added") for name in now if name not in was]
    rows += [element("p", f"left out: {name}", class_="tool removed") for name in was if name not in now]
    for name in (each for each in now if each in was and was[each] != now[each]):
        compared = sides(json_text(was[name]), json_text(now[name]), (there, f"call {view.number}"))
        rows.append(folded(f"changed: {name}", compared, class_="tool changed"))
    return _part("Tools that changed", *rows, _others(now, was, "tool", there))


def _tool(tool: Mapping[str, Any]) -> Html:
    about = member_of(tool, "toolSpec", "description")
    schema = member_of(tool, "toolSpec", "inputSchema", "json")
    return joined(
        [element("p", about) if isinstance(about, str) else None, json_html(tool if schema is None else schema)]
    )


def _messages(view: CallView, base: CallView | None, before: Sequence[CallView], prefix: str) -> Html | None:
    if not view.messages:
        return None
    now, was = view.message_keys, base.message_keys if base is not None else []
    places = {key: at for at, key in enumerate(was)}
    rows: list[Html] = []
    at = 0
    while at < len(now):
        # A conversation may contain equal messages: first compare with the message that has the same index.
        first = at if was[at : at + 1] == [now[at]] else places.get(now[at])
        end = at + 1
        while first is not None and end < len(now) and was[first + end - at : first + end - at + 1] == [now[end]]:
            end += 1
        if first is None or base is None:
            rows.append(_message(view, at, before, prefix))
        else:
            where = "" if first == at else f" ({_range(first, first + end - at)} there)"
            same = joined([f"{_range(at, end)}: as in ", _link(base, prefix), where])
            rows.append(element("li", same, class_="same"))
        at = end
    return _part(counted(len(view.messages), "message").capitalize(), element("ol", *rows, class_="messages"))


def _range(start: int, end: int) -> str:
    return f"message {start + 1}" if end == start + 1 else f"messages {start + 1}-{end}"


def _message(view: CallView, at: int, before: Sequence[CallView], prefix: str) -> Html:
    """Return the list item for the message with the index `at`. No equal message is in the earlier request."""

    def find_use(used: str) -> tuple[str, Html] | None:
        for each in reversed(before):
            if used in each.tool_uses:
                return each.tool_uses[used], _link(each, prefix)
        for message in view.messages[:at]:
            for block in objects_of(object_of(message).get("content")):
                if member_of(block, "toolUse", "toolUseId") == used:
                    return str(member_of(block, "toolUse", "name")), Html()
        return None

    message = view.messages[at]
    role = str(object_of(message).get("role", "no role"))
    answers = (each for each in reversed(before) if role == "assistant" and each.answer)
    answered = next((each for each in answers if member_of(each.answer, "output", "message") == message), None)
    title = element("div", element("b", role), element("small", f" message {at + 1}"), class_="role")
    if answered is None:
        content = message_html(message, find_use)
    else:
        content = element("p", "The answer of ", _link(answered, prefix), class_="same")
    kind = f"message {role}" if role in ("user", "assistant", "system") else "message"
    return element("li", title, content, class_=kind)
