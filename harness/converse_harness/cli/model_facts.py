"""What `converse-harness docs MODEL` prints: everything that is known of one model, and since when."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

from converse_harness.bedrock.models import TOPICS, Model, listed_models, standing
from converse_harness.bedrock.rules import PROFILES
from converse_harness.cli.terminal import BOLD, say, styled

_NOT_KNOWN = "not known"


def print_facts(model_id: str) -> bool:
    """Print the facts about the model with this id, profile id or ARN; return False if no row of the table has it."""
    known = standing(model_id)
    if known.model is None or known.inferred:
        return False
    model = known.model
    say(styled(f"{model.name}  ({model.ids})", BOLD))
    rows = [*_rows(model, known.id)]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        say(fill(value, 116, initial_indent=f"  {name:<{width}}  ", subsequent_indent=" " * (width + 4)))
    return True


def _rows(model: Model, name: str) -> Iterator[tuple[str, str]]:
    yield "on Bedrock since", model.since or _NOT_KNOWN
    yield "end of life", model.retired or _NOT_KNOWN
    inference = next((each.inference for each in listed_models() if each.id == name), ())
    yield "ids in AWS's list", ", ".join(inference) or _NOT_KNOWN
    for topic in TOPICS:
        yield topic, str(model.fact(topic))
    fields = model.fields
    yield "additional fields", f"{', '.join(fields.known)} ({fields.seen})" if fields.known else _NOT_KNOWN
    yield "refused fields", ", ".join(fields.refused) or _NOT_KNOWN
    yield "maxTokens up to", f"{model.most_tokens:,}" if model.most_tokens else _NOT_KNOWN
    yield "caches from", f"{model.caching.minimum:,} tokens" if model.caching is not None else _NOT_KNOWN
    if model.caching is not None:
        yield "cache looks back", f"{model.caching.look_back} blocks"
        yield "cache forgets", f"{model.caching.forgets}, if toolChoice or thinking changes"
    limits = model.image_limits
    shown = (
        f"{limits.most_bytes:,} bytes of base64; {limits.small:,} pixels, if more than {limits.many}" if limits else ""
    )
    yield "images up to", shown or _NOT_KNOWN
    ratio = f"{model.tokens_ratio:g} times those of Claude Sonnet 4.6"
    yield "tokens of a text", ratio if model.tokens_ratio != 1 else _NOT_KNOWN
    yield "ids of tool uses", f"{model.tool_ids}..."
    for form in model.tool_types:
        yield f"type of tool uses, {', '.join(form.operations)}", f"{form.sent} ({form.seen})"
    counters = model.counters
    yield "cache counters", f"{', '.join(counters.always) or 'none'} ({counters.seen})" if counters.seen else _NOT_KNOWN
    yield "rules of its own", ", ".join(rule.name for rule in PROFILES if name in rule.models) or "none"
