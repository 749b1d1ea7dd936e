"""Words of answers, and names and values of arguments, like those that models send. They were written for this."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_PROSE: Final = """\
I'll check the weather in Zürich for you. The forecast says light rain, then sun from about noon.

- It is **18 °C** at the moment.
- No rain before 9 pm: wind from the west, 12 km/h.

## Summary
To answer this, I need to know which of these cities you mean — there are three in the list (1, 2 and 3).
1. Open `settings.json`.
2. Restart the "second" service; it keeps its state in memory, so that's safe…

```python
def count(path):
    return sum(1 for _ in open(path))
```

| city | °C |
|---|---|
| Genf | 18.5 |

Das Wetter ist heute überwiegend sonnig. 東京の 天気は 晴れ、 24度です。 Il fait beau : « pas de pluie ».
Привет, мир! مرحبا बारिश
He said "no" twice, and cost $5.00 (3.5 %). That's a good question! 😀 <see https://example.com/a?b=c&d#e> \\(x^2\\)
"""

WORDS: Final[Sequence[str]] = tuple(sorted(dict.fromkeys(re.findall(r"\S+\s*", _PROSE)), key=len))
"""Words, each with the white space after it: prose, lists, code and tables, in some languages. The shortest come first.
"""

ARGUMENTS: Final[Sequence[str]] = (
    *("a", "Zürich", "celsius", "USD", "en-US", "main", "src/a.py", "C:\\temp\\a b.txt", "SELECT 1;", "a@example.com"),
    *(
        "https://example.com/a?b=c&d=%20#e",
        "rain\ntomorrow",
        "O'Brien",
        'say "hi"',
        "東京",
        "$5.00",
        "*",
        "a,b,c",
        "^a.*$",
    ),
)
"""Strings that stand as arguments."""

ODD_NAMES: Final[Sequence[str]] = (
    *(
        "",
        " ",
        "0",
        "1",
        "A",
        "a b",
        "a.b",
        "a-b",
        "a/b",
        "$ref",
        "@type",
        "_id",
        "TYPE",
        "__proto__",
        "constructor",
        "ä",
        "\U0001f600",
    ),
    *('"', "\\", "\n", "type", "name", "input", "text", "self", "items", "keys", "toolUseId", "class", "id "),
    *("properties", "value", "arguments", "kwargs", "json"),
)
"""Names of arguments that consumers confuse with something of their own, or that need escapes."""

NAMES: Final[Sequence[str]] = (
    *("a", "b", "c", "d", "city", "unit", "days", "query", "path", "limit", "user_id", "startDate", "include_archived"),
    *("filters", "tags", "options", "email", "amount", "page", "per_page", "sort", "owner", "repo", "body", "labels"),
    *("latitude", "longitude", "recursive", "timeout_ms", "content"),
)
"""Usual names of arguments. The simplest come first."""
