"""What uses of tools in an answer need in the request: offered tools, a valid input, the forced tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from converse_harness.bedrock.families import UNNAMED_TOOL_USE
from converse_harness.bedrock.fit.row import FREE_STOPS, SERVER_TOOL, Answer, Fit, Found, ids_in, parts_of_request
from converse_harness.bedrock.request_items import RequestItems
from converse_harness.bedrock.rules.request import FIELDS, RuleRequest
from converse_harness.bedrock.rules.rule import Claude, Models, documented, recorded, reported
from converse_harness.json_schema.quick import breaks
from converse_harness.json_values import is_object, member_of, object_of, objects_of
from converse_harness.words import cut, first_few, nearest


class OfferedTool(NamedTuple):
    """A tool that a request offers: its path, its schema, the check of its input, and whether it is `strict`.

    `check` returns the path of the keyword that an input breaks, and None for a valid input. It is None if any input is
    valid.
    """

    path: str
    schema: Mapping[str, Any] | None = None
    check: Callable[[Any], str | None] | None = None
    strict: bool = False


def offered_in(config: object) -> Mapping[str, OfferedTool]:
    """Return the tools that a toolConfig offers, by name. Tools of the service are among them, and have no schema."""
    found: dict[str, OfferedTool] = {}
    for k, tool in enumerate(objects_of(object_of(config).get("tools"))):
        spec, system = object_of(tool.get("toolSpec")), object_of(tool.get("systemTool"))
        if "name" in spec:
            path, schema = f"toolConfig.tools[{k}].toolSpec", member_of(spec, "inputSchema", "json")
            if is_object(schema):
                tool_found = OfferedTool(path, schema, breaks(schema), spec.get("strict") is True)
            else:
                tool_found = OfferedTool(path)
            found[str(spec["name"])] = tool_found
        elif "name" in system:
            found[str(system["name"])] = OfferedTool(f"toolConfig.tools[{k}].systemTool")
    return found


def _offered_in_fields(fields: object) -> Mapping[str, OfferedTool]:
    tools = objects_of(object_of(fields).get("tools"))
    return {str(tool["name"]): OfferedTool(f"{FIELDS}.tools[{k}]") for k, tool in enumerate(tools) if "name" in tool}


_NONE: Final[Mapping[str, OfferedTool]] = {}


def offered(asked: RuleRequest) -> Mapping[str, OfferedTool]:
    """Return the tools that a request offers, by name: those of the toolConfig, and Claude's own in additional fields.

    The tools of a toolConfig are read once, whatever the number of requests that repeat it.
    """
    members = asked.items_of_body.members
    config, fields = members.get("toolConfig"), members.get(FIELDS)
    given = _NONE if config is None else config.once(offered_in)
    own = _NONE if fields is None else fields.once(_offered_in_fields)
    return {**given, **own} if own else given


def is_usual(items: RequestItems, content: Sequence[Mapping[str, Any]], stop_reason: str, tokens: int) -> bool:
    """Whether an answer is one of those that nearly all are, and fits: texts, and valid uses of offered tools.

    Such an answer needs no further look if it has no other members. `tokens` is the number of its tokens, as estimated.
    """
    members, tools = items.members, _NONE
    ids: list[object] = []
    for block in content:
        use = block.get("toolUse")
        if use is not None:
            if not ids and "toolConfig" in members:
                tools = members["toolConfig"].once(offered_in)
            tool = tools.get(use.get("name"))
            if tool is None or use.get("type") == SERVER_TOOL:
                return False
            if tool.check is not None and tool.check(use.get("input")) is not None:
                return False
            use_id = use.get("toolUseId")
            if use_id != UNNAMED_TOOL_USE and (use_id in ids or _has_id(items, use_id)):
                return False
            ids.append(use_id)
        elif "text" not in block:
            return False
    if stop_reason != ("tool_use" if ids else "end_turn") or (len(ids) > 1 and FIELDS in members):
        return False
    return not parts_of_request(items, tokens)


def _has_id(items: RequestItems, use_id: object) -> bool:
    return any(use_id in each.once(ids_in) for each in items.messages)


_ALIKE: Final = 0.75
"""The least similarity of a name that counts as misspelt: 0.95 for get_wether and get_weather."""


def misfits_of_tools(asked: RuleRequest, answer: Answer) -> Found:
    """Find uses of tools that do not fit, and forced tools that are not used."""
    tools, uses = offered(asked), answer.tool_uses
    ids: list[object] = []
    for use in uses:
        name, given = use.get("name"), use.get("input")
        tool = tools.get(str(name))
        if tool is None:
            yield from _not_offered(tools, str(name))
        elif tool.check is not None and not isinstance(given, str) and (at := tool.check(given)) is not None:
            row = "strict_tool_gets_its_schema" if tool.strict else "tool_input_fits_its_schema"
            yield row, {"name": name, "problem": _problem(tool, given, at), "path": tool.path}
        use_id = use.get("toolUseId")  # a missing id is made when the answer is sent, and is new
        if use_id != UNNAMED_TOOL_USE and (use_id in ids or _has_id(asked.items_of_body, use_id)):
            where = "another use in this answer" if use_id in ids else "an earlier use in the request"
            yield "tool_use_id_is_new", {"name": name, "id": use_id, "where": where}
        ids.append(use_id)
    if uses and answer.stop_reason != "tool_use" and answer.stop_reason not in FREE_STOPS:
        has = f'toolUse "{uses[0].get("name")}"'
        yield "tool_use_is_the_stop_reason", {"has": has, "stop": answer.stop_reason}
    elif answer.stop_reason == "tool_use" and not uses:
        yield "tool_use_is_the_stop_reason", {"has": "no use of a client's tool", "stop": "tool_use"}
    if len(uses) > 1 and member_of(asked.fields, "tool_choice", "disable_parallel_tool_use") is True:
        yield "parallel_tools_are_allowed", {"count": len(uses)}


def _not_offered(tools: Mapping[str, OfferedTool], name: str) -> Found:
    if not tools:
        yield "tools_are_offered", {"name": name}
        return
    near = nearest(name, tools, cutoff=_ALIKE)
    if near is not None:
        yield "tool_name_is_offered", {"name": name, "near": near}
    else:
        yield "tool_is_offered", {"name": name, "offered": first_few([*tools], 5)}
    if all(tool.strict for tool in tools.values()):
        yield "strict_tools_are_the_only_ones", {"name": name, "offered": first_few([*tools], 5)}


def _problem(tool: OfferedTool, given: object, at: str) -> str:
    """Return what is wrong with an input that breaks the keyword at the path `at` of the tool's schema."""
    if at == "#/required" and tool.schema is not None:
        missing = next(name for name in tool.schema["required"] if name not in object_of(given))
        return f"without {missing!r}, which its inputSchema requires"
    shown = cut(json.dumps(given, ensure_ascii=False, default=str), 60)
    return f"with the input {shown}, which breaks {at} of its inputSchema"


def misfits_of_forced_tools(asked: RuleRequest, answer: Answer) -> Found:
    """Find answers without the tool that the request forces."""
    choice = object_of(asked.tool_config.get("toolChoice"))
    name: str | None = member_of(choice, "tool", "name")
    if answer.stop_reason in FREE_STOPS or ("any" not in choice and name is None):
        return
    used = [str(use.get("name")) for use in answer.tool_uses]
    others = [each for each in used if each != name] if name is not None else []
    if others or not used:
        values = {
            "has": f'toolUse "{others[0]}"' if others else "no toolUse",
            "wanted": "a tool" if name is None else f'the tool "{name}"',
        }
        yield "claude_uses_the_forced_tool", values
        yield "forced_tool_is_used", values
    kinds = {kind for block in answer.content for kind in block} - {"toolUse", "reasoningContent"}
    if used and kinds:
        yield "claude_says_nothing_beside_a_forced_tool", {"kind": min(kinds)}


def misfits_of_server_tools(asked: RuleRequest, answer: Answer) -> Found:
    """Find uses of the service's own tools that the request does not offer."""
    if answer.tool_uses and "toolResult" not in answer.parts and not answer.usage and not _serves(answer):
        return  # quickly, because most tool uses are the client's
    names = [str(object_of(tool.get("systemTool")).get("name")) for tool in asked.tools if "systemTool" in tool]
    for block in answer.content:
        use = object_of(block.get("toolUse"))
        if use.get("type") == SERVER_TOOL and use.get("name") not in names:
            yield "server_tool_is_offered", {"has": f'toolUse "{use.get("name")}" of the type server_tool_use'}
        elif "toolResult" in block and not names:
            yield "server_tool_is_offered", {"has": "a toolResult of the service's own tool"}
    if any(object_of(answer.usage.get("serverToolUsage")).values()) and not names:
        yield "server_tool_is_offered", {"has": "usage.serverToolUsage"}


def _serves(answer: Answer) -> bool:
    return len(answer.tool_uses) < sum("toolUse" in block for block in answer.content)


_CLAUDE: Final = Models(only=(Claude(),))
_USER_GUIDE: Final = "AWS's user guide"
_OFFERED: Final = recorded("580 of 580 tool uses", "2026-09")

TOOLS: Final = (
    Fit(
        "tools_are_offered",
        "a use of a client's tool",
        "tools in `toolConfig`",
        'toolUse "{name}"; the request offers no tools. Bedrock calls only what is offered: were the tools dropped on '
        "the way?",
        ("toolUse",),
        (_OFFERED, reported("api7/aisix#560", "2026-06"), reported("ortus-boxlang/bx-ai#189", "2026-05")),
        "never",
        "toolConfig.tools",
    ),
    Fit(
        "tool_name_is_offered",
        "a use of a client's tool with nearly the name of an offered one",
        "a tool of this name in `toolConfig.tools`",
        'toolUse "{name}"; did you mean "{near}", which the request offers?',
        ("toolUse",),
        (_OFFERED,),
        "seldom",
        "toolConfig.tools",
    ),
    Fit(
        "tool_is_offered",
        "a use of a client's tool",
        "a tool of this name in `toolConfig.tools`",
        'toolUse "{name}"; the request offers {offered}. Was this tool dropped on the way? A model may invent a name: '
        "if the test is about that, the case tool_unknown does the same without a note.",
        ("toolUse",),
        (_OFFERED,),
        "seldom",
        "toolConfig.tools",
        exceptions=(recorded("vercel/ai, issue-9967", "2026-07", "gpt-oss"),),
    ),
    Fit(
        "tool_input_fits_its_schema",
        "the input of a client's tool",
        "a tool whose `inputSchema` allows it",
        'toolUse "{name}" {problem} ({path}).',
        ("toolUse",),
        (recorded("578 of 580 tool uses", "2026-09"),),
        "seldom",
        "toolConfig.tools",
        exceptions=(recorded("once each", "", "Llama 3.3, Claude 3 Sonnet"),),
    ),
    Fit(
        "strict_tool_gets_its_schema",
        "the input of a client's tool that the request offers with `strict`",
        "a tool whose `inputSchema` allows it",
        'toolUse "{name}" {problem} ({path}). The tool is strict: Bedrock keeps to its schema.',
        ("toolUse",),
        (recorded("45 requests", "2026-09"), documented(f"{_USER_GUIDE}, structured output", "2026-11")),
        "never",
        "toolConfig.tools",
    ),
    Fit(
        "strict_tools_are_the_only_ones",
        "a use of a client's tool, in answer to a request whose tools are all `strict`",
        "a tool of this name in `toolConfig.tools`",
        'toolUse "{name}"; the request offers {offered}, with strict: Bedrock keeps to their names.',
        ("toolUse",),
        (recorded("45 requests", "2026-09"), documented(f"{_USER_GUIDE}, structured output", "2026-11")),
        "never",
        "toolConfig.tools",
    ),
    Fit(
        "tool_use_id_is_new",
        "a toolUseId that the script gives",
        "no use with this id in `messages`, nor in the answer itself",
        'toolUse "{name}" with the toolUseId {id}, which {where} has too; Bedrock gives each use a new id. Leave it '
        "out: then an id is made.",
        ("toolUse",),
        (recorded("82 of 82 later tool uses", "2026-09"),),
        "seldom",
    ),
    Fit(
        "tool_use_is_the_stop_reason",
        "a use of a client's tool, or the stop reason tool_use",
        "nothing, but each comes with the other",
        "{has} and stopReason {stop}: a use of a client's tool and the stop reason tool_use come together. Is the stop "
        "reason right?",
        ("toolUse", "stop tool_use"),
        (recorded("553 of 553 tool uses", "2026-09"),),
        "seldom",
        exceptions=(recorded("one tool use ended with max_tokens", "2026-09"),),
    ),
    Fit(
        "claude_uses_the_forced_tool",
        "no use of a tool, or one of another tool, by Claude",
        "no `toolChoice` any or tool",
        "{has}; the request forces {wanted} (toolConfig.toolChoice).",
        ("forced tool",),
        (recorded("90 of 90", "2026-09"), reported("maximhq/bifrost#2049", "2026-03")),
        "never",
        "toolConfig.toolChoice",
        _CLAUDE,
    ),
    Fit(
        "forced_tool_is_used",
        "no use of a tool, or one of another tool, by another model than Claude",
        "no `toolChoice` any or tool",
        "{has}; the request forces {wanted} (toolConfig.toolChoice).",
        ("forced tool",),
        (recorded("36 of 37", "2026-09"), reported("maximhq/bifrost#2049", "2026-03")),
        "seldom",
        "toolConfig.toolChoice",
        Models(but={Claude(): "the row claude_uses_the_forced_tool"}),
        (recorded("pydantic-ai, test_bedrock_model_structured_output", "2026-03", "Nova Micro"),),
    ),
    Fit(
        "claude_says_nothing_beside_a_forced_tool",
        "another block than the forced use of a tool, by Claude",
        "no `toolChoice` any or tool",
        "a block {kind} beside the toolUse; the request forces a tool (toolConfig.toolChoice), and Claude then sends "
        "nothing else.",
        ("forced tool",),
        (recorded("90 of 90", "2026-09"),),
        "never",
        "toolConfig.toolChoice",
        _CLAUDE,
    ),
    Fit(
        "parallel_tools_are_allowed",
        "several uses of tools, by Claude",
        "no `disable_parallel_tool_use` in the `tool_choice` of the additional fields",
        "{count} toolUse blocks; the request has tool_choice.disable_parallel_tool_use.",
        ("toolUse",),
        (recorded("vercel/ai, issue-17267: one tool with it, two without", "2026-09"),),
        "seldom",
        f"{FIELDS}.tool_choice",
        _CLAUDE,
    ),
    Fit(
        "server_tool_is_offered",
        "a use of a tool that the service runs, its result, or its usage",
        "a `systemTool` of this name in `toolConfig.tools`",
        "{has}; the request offers no such systemTool (toolConfig.tools).",
        ("toolUse", "toolResult", "usage"),
        (recorded("23 of 23", "2026-05", "Nova 2 Lite"), documented("AWS's API model, SystemTool", "2026-11")),
        "never",
        "toolConfig.tools",
    ),
)
"""The rows about tools."""
