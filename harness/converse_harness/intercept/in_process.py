"""The fake behind the boto transport: `fake_converse`, and what the fixture `converse` gives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final, TypeVar, Unpack

from converse_harness.endpoint.script import Replies, Responder
from converse_harness.intercept import registry
from converse_harness.intercept.fake import Fake, Settings

_F = TypeVar("_F", bound=Callable[..., Any])

_NO_CLASS: Final = (
    "@{made_by}(...) on the class {name}: it wraps functions only, and the tests of the class would be gone. Decorate "
    "each test method; or open it for all of them, in unittest with self.enterContext({made_by}(...)) in setUp(), in "
    "pytest with an autouse fixture of the class that opens it around its yield."
)
_NO_GENERATOR: Final = (
    "@{made_by}(...) on the generator function {name}: its body would run after the decorator has closed. Open it "
    "inside: `with {made_by}(...):` around the code that asks, or around the yield of a fixture."
)
_NO_FUNCTION: Final = "@{made_by}(...) on {name}: it wraps functions only. Put it directly above the `def`."
_NO_PARENTHESES: Final = "@{made_by} on {name} lacks its parentheses: write @{made_by}(...) above it."


class BotoFake(Fake):
    """A fake Bedrock that answers every boto3 and aiobotocore client of the process while it is open.

    `with`, `async with` or a decorator, which opens a fresh one for every call of the function.
    """

    transport = "boto"
    made_by: ClassVar[str] = "fake_converse"
    """The function of the public API that makes it."""

    def __init__(self, *replies: Responder | Replies, **settings: Unpack[Settings]) -> None:
        super().__init__(*replies, **settings)
        self._fresh: Callable[[], BotoFake] = functools.partial(BotoFake, *replies, **settings)

    def _transport(self) -> AbstractContextManager[object]:
        return registry.opened(self)

    def __call__(self, function: _F) -> _F:
        """Decorate a function, plain or async: each call runs under a fresh fake with the same script.

        Raises TypeError for a class and for a generator function, plain or async.
        """
        _check_function(function, self.made_by)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def opened_async(*args: Any, **kwargs: Any) -> Any:
                async with self._fresh():
                    return await function(*args, **kwargs)

            return opened_async  # type: ignore[return-value]  # wraps() keeps the signature; checkers cannot see it

        @functools.wraps(function)
        def opened(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return function(*args, **kwargs)

        return opened  # type: ignore[return-value]  # as above


def fake_converse(*replies: Responder | Replies, **settings: Unpack[Settings]) -> BotoFake:
    """A fake Bedrock without pytest: use it in `with`, in `async with`, or as a decorator.

    The settings are those of a Fake: `seed`, `unused`, `unexpected`, `rules`, `sleeps`.

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
        check_parentheses(replies[0], BotoFake.made_by)
    return BotoFake(*replies, **settings)


def check_parentheses(argument: object, made_by: str) -> None:
    """Raise TypeError if the only argument is the class or the test that was to be decorated."""
    name = getattr(argument, "__name__", "")
    if isinstance(argument, type) or (callable(argument) and name.startswith("test")):
        raise TypeError(_NO_PARENTHESES.format(made_by=made_by, name=name))


def _check_function(decorated: Any, made_by: str) -> None:
    """Raise TypeError for what cannot run inside the fake when it is called."""
    name = getattr(decorated, "__qualname__", repr(decorated))
    if isinstance(decorated, type):
        raise TypeError(_NO_CLASS.format(made_by=made_by, name=name))
    if not callable(decorated):
        raise TypeError(_NO_FUNCTION.format(made_by=made_by, name=name))
    # A fixture or a context manager may have been made of the generator function already.
    function: Any = inspect.unwrap(decorated)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(_NO_GENERATOR.format(made_by=made_by, name=name))
