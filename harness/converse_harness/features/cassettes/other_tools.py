"""The files that `import` does not read: how each is recognised, what it is, and what to do with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple


class OtherKind(NamedTuple):
    """A kind of files. `pattern` matches the beginning of a file; `advice` is what to do with it."""

    pattern: str
    advice: str = "Record the session again with converse-harness, or with vcrpy."


_YAML: Final = r"(?:---\s*\n)?"
_OTHER_API: Final = "converse-harness replays calls of Bedrock's Converse; answer this API with respx, for instance."

OTHER_KINDS: Final[Mapping[str, OtherKind]] = {
    "Ruby's VCR": OtherKind(_YAML + r"http_interactions:"),
    "betamax": OtherKind(r'\{\s*"http_interactions":'),
    "httpmock, which rig uses": OtherKind(_YAML + r"when:\s[\s\S]*?^then:\s"),
    "go-vcr": OtherKind(_YAML + r"(?:version: \d\n)?interactions:\n(?![\s\S]*^ +uri:)[\s\S]*?^ +url:"),
    "PHP-VCR": OtherKind(_YAML + r"-\s+request:\s*\n\s+method:[^\n]*\n\s+url:"),
    "responses": OtherKind(_YAML + r"(?:responses:\s*\n\s*-\s+response:|\[\[responses\]\])"),
    "Keploy": OtherKind(_YAML + r"version: api\.keploy\.io/"),
    "moto's recorder": OtherKind(
        r'\{"headers": \{[^\n]*"method": "[A-Z]+", "url": ',
        "It holds requests and no answers: record the session again with converse-harness.",
    ),
    "placebo": OtherKind(
        r'\{\s*"status_code":\s*\d+,\s*"data":\s*\{', "Save its `data` as a file of its own, and import that."
    ),
    "req_llm": OtherKind(r'\{\s*(?:"captured_at":[\s\S]*?"model_spec":|[\s\S]{0,9999}?"canonical_json":)'),
    "the AI SDK, a call with its answer in base64": OtherKind(r'\{[\s\S]{0,999}?"bodyBase64":'),
    "dd-apm-test-agent": OtherKind(r'\{\s*"request":\s*\{\s*"method":\s*"[A-Z]+",\s*"url":\s*"https?://'),
    "Braintrust's recorder": OtherKind(r'\{\s*"entries":\s*\[\s*\{\s*"callIndex":'),
    "aimock": OtherKind(
        r'\{\s*"fixtures":\s*\[',
        "Write its replies as a script.   More: converse-harness docs from-aimock what-you-write-now",
    ),
    "Polly.js or another that writes HAR": OtherKind(r'\{\s*"log":\s*\{'),
    "WireMock": OtherKind(
        r'\{[\s\S]{0,999}?(?:"mappings":\s*\[|"request":\s*\{[\s\S]{0,999}?"url\w*":)'
        rf"|{_YAML}(?:mappings:\s*\n\s*-|(?:(?!request:)\w[\w-]*:[^\n]*\n)*request:\s*\n(?:\s+[^\n]*\n)*?\s+url\w*:)"
    ),
    "MockServer": OtherKind(r'[\[{][\s\S]{0,999}?"httpRequest":\s*\{'),
    "Mountebank": OtherKind(r'\{[\s\S]{0,999}?"(?:imposters|stubs)":\s*\['),
    "Hoverfly": OtherKind(r'\{\s*"data":\s*\{\s*"pairs":\s*\['),
    "nock": OtherKind(r'\[\s*\{\s*"scope":'),
    "a client that kept only an error's message": OtherKind(
        r'\{\s*"message":\s*"(?:[^"\\]|\\.)*"\s*\}\s*\Z',
        'Script it: reply.error("ValidationException", "its message"), or with the name that the client got.',
    ),
    "Anthropic's Messages API": OtherKind(r'\{[\s\S]{0,999}?"type":\s*"message"', _OTHER_API),
    "OpenAI's Chat Completions API": OtherKind(r'\{[\s\S]{0,999}?"object":\s*"chat\.completion', _OTHER_API),
}
"""Maps the name of each kind to its row; the first whose pattern matches counts. The patterns are based on the tools'
documentation and on files in public repositories.
"""

_BEGINNING: Final = 64 * 1024
"""The number of characters at the beginning of a file that the patterns are compared with."""


def other_kind(text: str) -> str | None:
    """Return the name in OTHER_KINDS of what a file's text is; None if no row recognises it.

    >>> other_kind('{"http_interactions": []}')
    'betamax'
    """
    beginning = text[:_BEGINNING].lstrip()
    return next((name for name, each in OTHER_KINDS.items() if re.match(each.pattern, beginning, re.MULTILINE)), None)
