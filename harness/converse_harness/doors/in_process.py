"""The fake behind the boto door: `fake_converse`, and what the fixture `converse` gives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar, Unpack

from converse_harness.damage import Door
from converse_harness.doors import registry
from converse_harness.doors.fake import Fake, Settings
from converse_harness.script import Replies, Responder

F = TypeVar("F", bound=Callable[..., Any])


class BotoFake(Fake):
    """A fake Bedrock that answers every boto3 and aiobotocore client of the process while it is open.

    `with`, `async with` or a decorator, which opens a fresh one for every call of the function.
    """

    door = Door.BOTO

    def __init__(self, *replies: Responder | Replies, **settings: Unpack[Settings]) -> None:
        super().__init__(*replies, **settings)
        self._fresh: Callable[[], BotoFake] = functools.partial(BotoFake, *replies, **settings)

    def _door(self) -> AbstractContextManager[object]:
        return registry.opened(self)

    def __call__(self, function: F) -> F:
        """Decorate a function, plain or async: each call runs under a fresh fake with the same script."""
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
    >>> from converse_harness import fake_converse, reply
    >>> with fake_converse(reply.text("hi")) as fake:
    ...     client = botocore.session.get_session().create_client("bedrock-runtime")
    ...     answer = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
    >>> answer["output"]["message"]["content"], fake.calls[0].last_user_text
    ([{'text': 'hi'}], '?')
    """
    return BotoFake(*replies, **settings)
