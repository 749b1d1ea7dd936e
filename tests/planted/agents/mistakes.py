"""Mistakes that are planted, one by one, into a right agent: each is a change of its source."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).parent
SUITE: Final = HERE / "suite"


class Mistake(NamedTuple):
    """One mistake; `changes` are pairs of a text that stands once in the agent, and what replaces it."""

    name: str
    about: str
    changes: tuple[tuple[str, str], ...]


def source(mistake: Mistake | None = None) -> str:
    """The source of the agent, with a mistake if one is given."""
    text = (HERE / "agent.py").read_text(encoding="utf-8")
    for old, new in () if mistake is None else mistake.changes:
        if text.count(old) != 1:
            raise ValueError(f"{mistake and mistake.name}: {old!r} stands {text.count(old)} times in the agent")
        text = text.replace(old, new)
    return text


_RESULTS: Final = '            self.messages.append({"role": "user", "content": results})\n'

MISTAKES: Final = (
    Mistake(
        "results_apart",
        "the results of parallel tools are sent in messages of their own",
        ((_RESULTS, '            self.messages += [{"role": "user", "content": [each]} for each in results]\n'),),
    ),
    Mistake(
        "one_result",
        "of several results only the first is sent",
        (("[self.run(use) for use in answer.uses]", "[self.run(use) for use in answer.uses[:1]]"),),
    ),
    Mistake(
        "results_swapped",
        "the results of two tools are swapped",
        (
            (
                _RESULTS,
                '            ids = [each["toolResult"]["toolUseId"] for each in results]\n'
                "            for each, other in zip(results, reversed(ids)):\n"
                '                each["toolResult"]["toolUseId"] = other\n' + _RESULTS,
            ),
        ),
    ),
    Mistake(
        "tools_left_out",
        "the tools are left out of later requests",
        (("        if self.tools:\n", "        if self.tools and len(self.messages) == 1:\n"),),
    ),
    Mistake(
        "signature_dropped",
        "the signature of reasoning is dropped",
        (('if "signature" in block else {}', 'if "signature" in block and False else {}'),),
    ),
    Mistake(
        "redacted_dropped",
        "redacted reasoning is dropped",
        (("    return not block or (", '    return not block or "redacted" in block or ('),),
    ),
    Mistake(
        "cache_point_each_turn",
        "a cache point is added at every question",
        (
            (
                '"content": [{"text": question}]}',
                '"content": [{"text": question}, {"cachePoint": {"type": "default"}}]}',
            ),
        ),
    ),
    Mistake(
        "throttle_swallowed",
        "a ThrottlingException becomes an empty answer",
        (('raise Busy(details["Message"]) from error', 'return Answer(stop_reason="end_turn")'),),
    ),
    Mistake(
        "stream_error_swallowed",
        "after an error inside the stream the part that came is the answer",
        (
            (
                "            except (ClientError, EventStreamError) as error:\n",
                (
                    "            except EventStreamError:\n"
                    '                answer.stop_reason = "end_turn"\n'
                    "                return answer\n"
                    "            except ClientError as error:\n"
                ),
            ),
        ),
    ),
    Mistake(
        "no_end_needed",
        "an answer without a messageStop is a whole one",
        (
            (
                "    if answer.stop_reason is None or set(answer.blocks) - ended:\n",
                '    answer.stop_reason = answer.stop_reason or "end_turn"\n    if not answer.blocks:\n',
            ),
        ),
    ),
    Mistake(
        "stops_at_message_stop",
        "the stream is closed at messageStop, so that the usage is lost",
        (
            (
                '            answer.stop_reason = member["stopReason"]\n',
                '            answer.stop_reason = member["stopReason"]\n            break\n',
            ),
        ),
    ),
    Mistake(
        "history_rewritten",
        "the model's words are rewritten in the history",
        (
            (
                "    return {name: block[name] for name in",
                (
                    '    if "text" in block:\n        block["text"] = " ".join(block["text"].split())\n'
                    "    return {name: block[name] for name in"
                ),
            ),
        ),
    ),
    Mistake(
        "goes_on_at_any_reason",
        "at max_tokens the model is asked to continue, and the parts are no longer told apart",
        (
            ('    "max_tokens",\n', ""),
            (
                "            if not answer.uses:\n",
                (
                    '            if answer.stop_reason == "max_tokens" and not answer.uses:\n                continue\n'
                    "            if not answer.uses:\n"
                ),
            ),
        ),
    ),
    Mistake(
        "reason_decides",
        "tools run only if the stop reason is tool_use",
        (("            if not answer.uses:\n", '            if answer.stop_reason != "tool_use":\n'),),
    ),
    Mistake(
        "filtered_is_an_answer",
        "filtered and malformed answers are returned as answers, with the stop reason of a whole one",
        (
            (
                '    "content_filtered",\n    "malformed_model_output",\n    "malformed_tool_use",\n',
                "",
            ),
            (
                "            if not answer.uses:\n",
                '            answer.stop_reason = "end_turn"\n            if not answer.uses:\n',
            ),
        ),
    ),
    Mistake(
        "cut_short_is_an_answer",
        "what max_tokens cut short is returned as a whole answer",
        (
            ('    "max_tokens",\n', ""),
            (
                "            if not answer.uses:\n",
                '            answer.stop_reason = "end_turn"\n            if not answer.uses:\n',
            ),
        ),
    ),
    Mistake(
        "guardrail_is_an_answer",
        "the words of a guardrail are returned as the model's",
        (
            ("            raise Blocked(answer.text)\n", '            answer.stop_reason = "end_turn"\n'),
            ("            answer.usage, answer.trace = member", "            answer.usage, _ = member"),
        ),
    ),
    Mistake(
        "overflow_for_ever",
        "a conversation that is too long is sent again and again",
        (
            (
                '                    raise TooLong(details["Message"]) from error\n',
                "                    return self.answered()\n",
            ),
        ),
    ),
    Mistake(
        "first_block_alone",
        "the text of the first block alone is returned",
        (
            (
                'return "".join(block.get("text", "") for block in self.blocks.values())',
                'return "".join(block.get("text", "") for block in [*self.blocks.values()][:1])',
            ),
        ),
    ),
    Mistake(
        "bad_json_is_empty",
        "an input that is no JSON becomes {}, and the tool runs",
        (
            (
                (
                    "        except ValueError as error:\n"
                    '            raise BrokenAnswer("the input of a tool is no JSON") from error\n'
                ),
                "        except ValueError:\n            given = {}\n",
            ),
        ),
    ),
    Mistake(
        "runs_server_tools",
        "tools that the service has run itself run again",
        (('if use.get("type") != "server_tool_use"]', "]"),),
    ),
    Mistake(
        "typed_tools_left_out",
        "a tool use that has a type is taken for one of the service",
        (('if use.get("type") != "server_tool_use"]', 'if "type" not in use]'),),
    ),
    Mistake(
        "citations_lost",
        "citations are lost",
        (('block.setdefault("citations", []).append(citation)', 'block.setdefault("text", "")'),),
    ),
    Mistake(
        "blank_texts_kept",
        "blank texts go back into the next request",
        ((' or (set(block) == {"text"} and not block["text"].strip())', ""),),
    ),
    Mistake(
        "tool_error_hidden",
        "a tool that raised is reported to the model as a success",
        (
            (
                'return {"toolResult": {**result, "status": "error", "content": [{"text": repr(error)}]}}',
                'return {"toolResult": {**result, "content": [{"text": repr(error)}]}}',
            ),
        ),
    ),
    Mistake(
        "no_bound_of_turns",
        "a model that asks for tools for ever is asked for ever",
        (("        while turn < self.max_turns:\n", "        while True:\n"),),
    ),
    Mistake(
        "no_bound_of_tries",
        "a busy service is asked for ever",
        (
            ("range(1, self.max_tries + 1)", "range(1, 10**9)"),
            ('== "throttlingexception" and attempt == self.max_tries', '== "throttlingexception" and attempt == 0'),
        ),
    ),
    Mistake(
        "text_of_first_try_kept",
        "after a broken answer its text stays, and the text of the next try is added",
        (
            (
                "        for attempt in range(1, self.max_tries + 1):\n            answer = Answer()\n",
                "        answer = Answer()\n        for attempt in range(1, self.max_tries + 1):\n",
            ),
        ),
    ),
    Mistake(
        "tools_run_at_once",
        "tools run as soon as their input is whole, also if the answer then breaks off",
        (
            (
                "            except (BrokenAnswer, BotoCoreError, HTTPError) as error:\n",
                (
                    "            except (BrokenAnswer, BotoCoreError, HTTPError) as error:\n"
                    "                for use in answer.uses:\n"
                    "                    self.run(use)\n"
                ),
            ),
        ),
    ),
    Mistake(
        "failed_question_kept",
        "a question that failed stays in the history, and is there again when it is asked again",
        (
            (
                "            self.messages = before\n",
                "            self.messages = [*self.messages, self.messages[-1]]\n",
            ),
        ),
    ),
    Mistake(
        "numbers_for_booleans",
        "a tool gets 1 for true, and 0 for false",
        (
            (
                'given = json.loads(block["input"] or "{}")',
                (
                    'given = json.loads(block["input"] or "{}", object_hook=lambda found: {\n'
                    "                name: int(each) if isinstance(each, bool) else each\n"
                    "                for name, each in found.items()\n"
                    "            })"
                ),
            ),
        ),
    ),
    Mistake(
        "thinking_tags_cut_out",
        "tags of thinking are cut out of texts",
        (
            (
                'block.update(text=block.get("text", "") + text)',
                'block.update(text=(block.get("text", "") + text).replace("<thinking>", ""))',
            ),
        ),
    ),
    Mistake(
        "last_block",
        "every delta goes to the block that began last: on legal streams this is no mistake",
        (
            (
                "                take(answer.blocks.setdefault(index, {}),",
                (
                    '                if "start" in member or not answer.blocks or max(answer.blocks) in ended:\n'
                    "                    answer.blocks.setdefault(index, {})\n"
                    "                take(answer.blocks[max(answer.blocks)],"
                ),
            ),
        ),
    ),
)


def named(names: Iterable[str]) -> list[Mistake]:
    """The mistakes of these names, or all of them if there is no name."""
    wanted = {*names}
    return [each for each in MISTAKES if not wanted or each.name in wanted]
