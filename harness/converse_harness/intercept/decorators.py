"""Decorate a function, a generator function or a test class, so that it runs under a fake."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, aclosing, contextmanager, suppress
from typing import Any, Final, cast

_NO_GENERATOR: Final = (
    "@{made_by}(...) on {name}, which was made of a generator function: the body would run after the decorator has "
    "closed. Put it directly above the `def`, below @pytest.fixture or @contextmanager."
)
_NO_FUNCTION: Final = (
    "@{made_by}(...) on {name}: it wraps functions, generators and classes of tests. Put it directly above the `def` "
    "or the `class`."
)
_NO_TESTS: Final = (
    "@{made_by}(...) on the class {name}, which has no test method: nothing would be opened. Names of test methods "
    "begin with `test`."
)

_ERRORS: Final = "_converse_harness_errors"
"""The name of an attribute of a unittest test: the list of the test's exceptions. It exists while the fake is open."""

_WRITTEN: Final = "_converse_harness_written"
"""The name of the attribute in which a wrapped test method keeps the undecorated method."""


Fresh = Callable[[str], AbstractContextManager[object]]
"""A function that creates a new fake for the test method with the given name, or "" for a decorated function."""
Entered = Callable[..., AbstractContextManager[object]]
"""A function of the decorated function's positional arguments. It returns the context manager for the call."""


def under(target: Any, fresh: Fresh, made_by: str, test: str = "") -> Any:
    """Wrap a function, generator function or test class so that it runs under a fake.

    `fresh` creates the fakes. `made_by` is the name of the decorator, for error messages. `test` is the name of
    `target` if it is a test method. Raises TypeError for any other object, and for a class without test methods.
    """
    if isinstance(target, type):
        return _class_under(target, fresh, made_by)
    if isinstance(target, staticmethod | classmethod):
        method = cast("Any", target)  # isinstance() leaves the type parameters unknown
        return type(method)(under(method.__func__, fresh, made_by, test))
    name = getattr(target, "__qualname__", repr(target))
    if not callable(target):
        raise TypeError(_NO_FUNCTION.format(made_by=made_by, name=name))
    below: Any = inspect.unwrap(target)
    generates = inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target)
    if not generates and (inspect.isgeneratorfunction(below) or inspect.isasyncgenfunction(below)):
        raise TypeError(_NO_GENERATOR.format(made_by=made_by, name=name))
    return _function_under(target, lambda *_: fresh(test))


def _call_under(function: Any, entered: Entered) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with entered(*args):
            return function(*args, **kwargs)

    return wrapper


def _coroutine_under(function: Any, entered: Entered) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with entered(*args):
            return await function(*args, **kwargs)

    return wrapper


def _generator_under(function: Callable[..., Generator[Any, Any, Any]], entered: Entered) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with entered(*args):
            return (yield from function(*args, **kwargs))

    return wrapper


def _async_generator_under(function: Any, entered: Entered) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        with entered(*args):
            async with aclosing(function(*args, **kwargs)) as inner:
                step = inner.__anext__()
                with suppress(StopAsyncIteration):  # the wrapped generator has ended
                    while True:
                        value = await step
                        try:
                            sent = yield value
                        except GeneratorExit:
                            raise
                        except BaseException as error:  # noqa: BLE001 - the wrapped generator must handle it
                            step = inner.athrow(error)
                        else:
                            step = inner.asend(sent)

    return wrapper


_WRAPPERS: Final[tuple[tuple[Callable[[Any], bool], Any], ...]] = (
    (inspect.isasyncgenfunction, _async_generator_under),
    (inspect.isgeneratorfunction, _generator_under),
    (inspect.iscoroutinefunction, _coroutine_under),
    (callable, _call_under),
)
"""Pairs (is_kind, wrap): if `is_kind(function)` is true, `wrap` can wrap the function. The first such pair is used."""


def _function_under(function: Any, entered: Entered) -> Any:
    under_kind = next(wrapper for is_kind, wrapper in _WRAPPERS if is_kind(function))
    wraps = cast("Callable[[Any], Any]", functools.wraps(function))
    return wraps(under_kind(function, entered))


def _class_under(kind: type, fresh: Fresh, made_by: str) -> type:
    """Make each test of a class run under a new fake, and return the class.

    If a base class has this decorator too, the inherited tests run only under a fake of the class `kind`.
    """
    tests = dict(_tests_of(kind))
    if not tests:
        raise TypeError(_NO_TESTS.format(made_by=made_by, name=kind.__qualname__))
    unittest = sys.modules.get("unittest")
    if unittest is not None and issubclass(kind, unittest.TestCase):
        _put_into_unittest(kind, tests, fresh)
        return kind
    for name, method in tests.items():
        _put(kind, name, method, under(method, fresh, made_by, name))
    return kind


def _put(kind: type, name: str, written: Any, wrapper: Any) -> None:
    setattr(wrapper, _WRITTEN, written)
    setattr(kind, name, wrapper)


def _tests_of(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the name and the undecorated form of each test method, including inherited ones."""
    for name in dir(kind):
        method: Any = inspect.getattr_static(kind, name)
        if name.startswith("test") and (inspect.isfunction(method) or isinstance(method, staticmethod | classmethod)):
            yield name, vars(method).get(_WRITTEN, method)


@contextmanager
def _errors_kept(test: Any) -> Generator[None]:
    """Append an exception of the `with` block to the list in the attribute `_ERRORS` of the unittest test."""
    try:
        yield
    except Exception as error:
        getattr(test, _ERRORS).append(error)
        raise


def _put_into_unittest(kind: Any, tests: Mapping[str, Any], fresh: Fresh) -> None:
    """Make each test of a unittest class open a new fake before setUp, and close it after tearDown and all cleanups.

    If setUp or the test raises an exception, the fake gets it, and then does not report unused replies.
    """
    own = kind.__dict__.get("setUp")

    @functools.wraps(kind.setUp)
    def set_up(self: Any) -> None:
        inherited = cast("Any", super(kind, self))
        written = functools.partial(own, self) if own is not None else inherited.setUp
        if _ERRORS in vars(self):  # a decorated subclass has already opened a fake
            written()
            return
        fake = fresh(self._testMethodName)
        errors: list[Exception] = []

        def close() -> None:
            __tracebackhide__ = True
            delattr(self, _ERRORS)
            error = errors[-1] if errors else None
            fake.__exit__(None if error is None else type(error), error, None)

        fake.__enter__()
        setattr(self, _ERRORS, errors)
        self.addCleanup(close)
        with _errors_kept(self):
            written()

    kind.setUp = set_up
    for name, method in tests.items():
        if inspect.isfunction(method):
            _put(kind, name, method, _function_under(method, _errors_kept))
