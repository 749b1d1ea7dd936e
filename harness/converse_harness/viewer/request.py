"""The request of a call as HTML, beside the request before it: what is new, what changed, and links to the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from converse_harness.json_values import is_object, leaves, member_of, object_of, objects_of, path_text
from converse_harness.viewer.blocks import block_html, counted, folded, json_html, message_html, text_html
from converse_harness.viewer.differences import sides
from converse_harness.viewer.html import Html, element, joined
from converse_harness.viewer.view import CallView, json_text

_LOOKED_BACK: Final = 60
"""The request before is looked for among this number of calls, unless a later one has nearly all its messages."""

_NEW: Final = 3
"""A request that lacks at most this number of a request's messages is the one before it."""

_OTHER_PARTS: Final = frozenset({"messages", "system", "toolConfig"})


def request_html(view: CallView, before: Sequence[CallView], prefix: str) -> Html:
    """Return what a call asks. Its messages that the request before it contains are links to that call."""
    base = base_of(view, before)
    if view.request is None:
        return element("p", "No body.", class_="none")
    if not is_object(view.request):
        return text_html(view.request) if isinstance(view.request, str) else json_html(view.request)
    return joined(
        [
            *_settings(view, base, prefix),
            *_system(view, base, prefix),
            *_tools(view, base, prefix),
            *_messages(view, base, before, prefix),
        ]
    )


def base_of(view: CallView, before: Sequence[CallView]) -> CallView | None:
    """Return the call to which a request is compared: the one with most of its messages, or else the last one."""
    alike = [each for each in before if each.operation == view.operation] or before
    wanted = set(view.message_keys)
    best, shared = alike[-1] if alike else None, 0
    for each in reversed(alike[-_LOOKED_BACK:]):
        common = len(wanted.intersection(each.message_keys))
        if common > shared:
            best, shared = each, common
        if shared and shared >= len(wanted) - _NEW:
            break
    return best


def link(view: CallView, prefix: str) -> Html:
    """Return a link to a call."""
    return element("a", f"call {view.number}", href=f"#{prefix}call-{view.number}")


def _part(title: str, *content: str | None, same_as: Html | None = None) -> Html:
    """Return a part of a request: its title, and its content or a link to the equal part of another request."""
    if same_as is not None:
        content = (element("span", "as in ", same_as, class_="same"),)
    return element("div", element("h5", title), *content, class_="part")


def settings_of(view: CallView) -> dict[str, Any]:
    """Return all values of a request beside messages, system and tools, by their paths."""
    settings = {"modelId": view.model_id} if view.model_id else {}
    body = object_of(view.request)
    is_inside = bool(view.conversation) and view.conversation is not body
    for source in (body, view.conversation) if is_inside else (body,):
        rest = {name: value for name, value in source.items() if name not in _OTHER_PARTS and name != "input"}
        settings |= {path_text(path): value for path, value in leaves(rest)}
    if not view.conversation.get("messages") and "input" in body:
        settings["input"] = body["input"]
    choice = member_of(view.conversation, "toolConfig", "toolChoice")
    return settings | ({"toolChoice": choice} if choice is not None else {})


def _settings(view: CallView, base: CallView | None, prefix: str) -> Iterator[Html]:
    now = settings_of(view)
    if base is None:
        rows = [_row(name, _value(value)) for name, value in now.items()]
        if rows:
            yield _part("Settings", _table(("setting", "value"), rows))
        return
    was = settings_of(base)
    if now == was:
        if now:
            yield _part("Settings", same_as=link(base, prefix))
        return
    missing = element("i", "not given")
    rows = [
        _row(name, _value(was[name]) if name in was else missing, _value(now[name]) if name in now else missing)
        for name in dict.fromkeys((*was, *now))
        if was.get(name) != now.get(name) or (name in was) != (name in now)
    ]
    rest = sum(was.get(name) == value for name, value in now.items())
    others = element("p", f"{counted(rest, 'other setting')} as in ", link(base, prefix), class_="same")
    table = _table(("setting", link(base, prefix), f"call {view.number}"), rows)
    yield _part("Settings that changed", table, others if rest else None)


def _value(value: Any) -> Html:
    return text_html(value if isinstance(value, str) and value else json_text(value), "value")


def _row(name: str, *values: Html) -> Html:
    return element("tr", element("th", name, scope="row"), *(element("td", value) for value in values))


def _table(heads: Sequence[str], rows: Sequence[Html]) -> Html:
    head = element("tr", *(element("th", each, scope="col") for each in heads))
    return element("div", element("table", element("thead", head), element("tbody", *rows)), class_="scroll")


def _system(view: CallView, base: CallView | None, prefix: str) -> Iterator[Html]:
    now = view.conversation.get("system")
    was = None if base is None else base.conversation.get("system")
    if not now and not was:
        return
    if base is not None and now == was:
        yield _part("System", same_as=link(base, prefix))
    elif base is not None and was:
        heads = (link(base, prefix), Html(f"call {view.number}"))
        yield _part("System, changed", sides(_texts(was), _texts(now), heads))
    else:
        yield _part("System", *(part for block in objects_of(now) for part in block_html(block, lambda _: None)))


def _texts(blocks: Any) -> str:
    """Return blocks as one text, to be compared with another."""
    return "\n".join(str(each["text"]) if "text" in each else json_text(each) for each in objects_of(blocks))


def _named(view: CallView | None) -> dict[str, Any]:
    """Return the tools of a request by their names; those without a name by their place."""
    tools = objects_of(None if view is None else member_of(view.conversation, "toolConfig", "tools"))
    return {str(member_of(tool, "toolSpec", "name") or f"tool {at}"): tool for at, tool in enumerate(tools, 1)}


def _tools(view: CallView, base: CallView | None, prefix: str) -> Iterator[Html]:
    now, was = _named(view), _named(base)
    if not now and not was:
        return
    if base is None or not was:
        yield _part("Tools", *(folded(name, _tool(tool), class_="tool") for name, tool in now.items()))
        return
    if now == was:
        moved = ", in another order" if [*now] != [*was] else ""
        yield _part(f"Tools{moved}", same_as=link(base, prefix))
        return
    rows = [folded(f"new: {name}", _tool(now[name]), class_="tool added") for name in now if name not in was]
    rows += [element("p", f"left out: {name}", class_="tool removed") for name in was if name not in now]
    heads = (link(base, prefix), Html(f"call {view.number}"))
    for name in (each for each in now if each in was and was[each] != now[each]):
        compared = sides(json_text(was[name]), json_text(now[name]), heads)
        rows.append(folded(f"changed: {name}", compared, class_="tool changed"))
    rest = sum(was.get(name) == tool for name, tool in now.items())
    others = element("p", f"{counted(rest, 'other tool')} as in ", link(base, prefix), class_="same")
    yield _part("Tools that changed", *rows, others if rest else None)


def _tool(tool: Mapping[str, Any]) -> Html:
    about = member_of(tool, "toolSpec", "description")
    schema = member_of(tool, "toolSpec", "inputSchema", "json")
    described = element("p", about) if isinstance(about, str) else None
    return joined(each for each in (described, json_html(tool if schema is None else schema)) if each is not None)


def _messages(view: CallView, base: CallView | None, before: Sequence[CallView], prefix: str) -> Iterator[Html]:
    if not view.messages:
        return
    now, was = view.message_keys, base.message_keys if base is not None else []
    places = {key: at for at, key in enumerate(was)}
    rows: list[Html] = []
    at = 0
    while at < len(now):
        # The same message may stand in a conversation several times: the one at its own place counts first.
        first = at if was[at : at + 1] == [now[at]] else places.get(now[at])
        end = at + 1
        while first is not None and end < len(now) and was[first + end - at : first + end - at + 1] == [now[end]]:
            end += 1
        if first is None or base is None:
            rows.append(_message(view, at, before, prefix))
        else:
            where = "" if first == at else f" ({_range(first, first + end - at)} there)"
            same = joined([f"{_range(at, end)}: as in ", link(base, prefix), where])
            rows.append(element("li", same, class_="same"))
        at = end
    yield _part(counted(len(view.messages), "message").capitalize(), element("ol", *rows, class_="messages"))


def _range(start: int, end: int) -> str:
    return f"message {start + 1}" if end == start + 1 else f"messages {start + 1}-{end}"


def _message(view: CallView, at: int, before: Sequence[CallView], prefix: str) -> Html:
    """Return a message that the request before does not contain."""

    def find_use(used: str) -> tuple[str, Html] | None:
        for each in reversed(before):
            if used in each.tool_uses:
                return each.tool_uses[used], link(each, prefix)
        for message in view.messages[:at]:
            for block in objects_of(object_of(message).get("content")):
                if member_of(block, "toolUse", "toolUseId") == used:
                    return str(member_of(block, "toolUse", "name")), Html()
        return None

    message = view.messages[at]
    role = str(object_of(message).get("role", "no role"))
    answered = next((each for each in reversed(before) if role == "assistant" and _is_answer(message, each)), None)
    title = element("div", element("b", role), element("small", f" message {at + 1}"), class_="role")
    if answered is not None:
        return element(
            "li", title, element("p", "The answer of ", link(answered, prefix), class_="same"), class_=_class(role)
        )
    return element("li", title, message_html(message, find_use), class_=_class(role))


def _is_answer(message: Any, view: CallView) -> bool:
    return bool(view.answer) and member_of(view.answer, "output", "message") == message


def _class(role: str) -> str:
    return f"message {role}" if role in ("user", "assistant", "system") else "message"
