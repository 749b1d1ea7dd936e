"""AWS's names in the manner of Python."""

import re
from typing import Final

_BEFORE_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake(name: str) -> str:
    """The name in lower case, its words parted by underscores.

    >>> snake("documentChar"), snake("ModelTimeoutException")
    ('document_char', 'model_timeout_exception')
    """
    return _BEFORE_CAPITAL.sub("_", name).lower()
