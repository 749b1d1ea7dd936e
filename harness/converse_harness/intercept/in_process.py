"""The fake for all clients of this process: `fake_converse` and the fixture `converse` create it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, TypeVar, Unpack, cast

from converse_harness.endpoint.script import Replies, Responder
from converse_harness.errors import FakeNotOpenWarning
from converse_harness.intercept.decorators import under
from converse_harness.intercept.fake import Fake
from converse_harness.intercept.http.requests import for_all_libraries
from converse_harness.intercept.registry import OPEN_FAKES
from converse_harness.left_behind import LEFT_BEHIND
from converse_harness.settings import Settings, shows_settings

_F = TypeVar("_F", bound=Callable[..., Any])

_NO_PARENTHESES: Final = "@{made_by} on {name} lacks its parentheses: write @{made_by}(...) above it."


class InProcessFake(Fake):
    """A fake Bedrock that answers every client of the process that asks Bedrock, while it is open.

    The libraries are boto3, botocore, aiobotocore, httpx, httpx2, aiohttp, and all that are built on them.

    Use it in `with`, in `async with`, or as a decorator. The decorator opens a new fake for every call of the function.
    """

    transport = "boto"
    _made_by = "fake_converse"
    _in_use = True
    """Whether the fake was opened, decorates something, or got no replies when it was made."""
    _upstream = ""
    """The URL that replaces Bedrock for clients of HTTP libraries."""

    @shows_settings(Settings)
    def __init__(self, *replies: Responder | Replies, **settings: Unpack[Settings]) -> None:
        self._in_use = not replies
        super().__init__(*replies, **settings)
        self._made = replies, settings

    def __del__(self) -> None:
        # A fake that could not be made has no `_made`.
        if not self._in_use and hasattr(self, "_made") and not sys.is_finalizing():
            line = next((slot.line for _, slot in self.endpoint.script.slots()), None)
            text = LEFT_BEHIND["not_opened"].told(fake=repr(self))
            if line is not None:
                warnings.warn_explicit(text, FakeNotOpenWarning, *line)

    def _transport(self) -> AbstractContextManager[object]:
        self._in_use = True
        return OPEN_FAKES.opened(self.core, http=for_all_libraries(self.core, self._upstream))

    def _fresh(self, test: str = "") -> InProcessFake:
        """Create a fake with the same script and settings. `test` is the name of a test method in a decorated class."""
        del test  # only the method of the subclass Recorder uses `test`
        return InProcessFake(*self._made[0], **self._made[1])

    def __call__(self, decorated: _F) -> _F:
        """Decorate a function (plain, async or generator) or a test class: each call or test method gets a new fake.

        Each new fake has the same script. In a unittest class, the fake is also open during setUp and tearDown. Raises
        TypeError for an object that cannot be wrapped, and for a class without a test method.
        """
        self._in_use = True
        return cast("_F", under(decorated, self._fresh, self._made_by))


@shows_settings(Settings)
def fake_converse(*replies: Responder | Replies, **settings: Unpack[Settings]) -> InProcessFake:
    """A fake Bedrock without pytest: use it in `with`, in `async with`, or as a decorator.

    The settings are those of a Fake. Raises ReplyError for a wrong setting.

    >>> import botocore.session
    >>> from converse_harness import fake_converse
    >>> from converse_harness import reply
    >>> with fake_converse(reply.text("hi")) as fake:
    ...     client = botocore.session.get_session().create_client("bedrock-runtime")
    ...     answer = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
    >>> answer["output"]["message"]["content"], fake.calls[0].last_user_text
    ([{'text': 'hi'}], '?')
    """
    if len(replies) == 1:
        check_parentheses(replies[0], "fake_converse")
    return InProcessFake(*replies, **settings)


def check_parentheses(argument: object, made_by: str) -> None:
    """Raise TypeError if `argument` is a class or test function: then the decorator `made_by` lacks its parentheses."""
    name = getattr(argument, "__name__", "")
    if isinstance(argument, type) or (callable(argument) and name.startswith("test")):
        raise TypeError(_NO_PARENTHESES.format(made_by=made_by, name=name))
