"""Look, after each example of a test with `@given`, whether it left replies of the test's fixtures to the next one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from converse_harness.plugin.settings import own_fakes, settings_of

if TYPE_CHECKING:
    import pytest

    from converse_harness.endpoint.script import Slot
    from converse_harness.intercept.fake import Fake
    from converse_harness.notes import Note


@contextmanager
def told_of_examples(item: pytest.Item, tell: Callable[[Note], None]) -> Generator[None, None, None]:
    """Call `tell` with a note, while a test with `@given` runs in the `with` block, if an example leaves replies.

    Other tests run unchanged. So do tests without a fake of a fixture.
    """
    handle: Any = getattr(getattr(item, "obj", None), "hypothesis", None)
    fakes = own_fakes(item) if handle is not None else []
    test: Any = getattr(handle, "inner_test", None)
    if handle is None or not fakes or test is None or settings_of(item).get("unused") == "allow":
        yield
        return
    handle.inner_test = _watched(test, lambda: _left(fakes), tell)
    try:
        yield
    finally:
        handle.inner_test = test


def _watched(test: Any, left: Callable[[], set[Slot]], tell: Callable[[Note], None]) -> Any:
    """Wrap the function that runs one example; pytest's plugins for asyncio wrap it once more."""

    def look(before: set[Slot]) -> None:
        if after := left() - before:
            tell(_note(sorted(slot.summary for slot in after)))

    @functools.wraps(test)
    def one(*args: Any, **kwargs: Any) -> Any:
        before = left()
        result = test(*args, **kwargs)
        look(before)
        return result

    @functools.wraps(test)
    async def one_later(*args: Any, **kwargs: Any) -> Any:
        before = left()
        result = await test(*args, **kwargs)
        look(before)
        return result

    return one_later if inspect.iscoroutinefunction(test) else one


def _left(fakes: list[Fake]) -> set[Slot]:
    return {slot for fake in fakes for slot in fake.endpoint.script.unused()}


def _note(replies: list[str]) -> Note:
    from converse_harness.left_behind import LEFT_BEHIND
    from converse_harness.notes import Note
    from converse_harness.secrets.mask import mask

    shown = ", ".join(replies[:3]) + ", ..." * (len(replies) > 3)
    return Note("left_between_examples", mask(LEFT_BEHIND["left_between_examples"].told(replies=shown)), 0)
