"""What botocore does around a call, while a fake is open: no keys, no region, no real ones, and no waits.

The environment and every other service stay as they are. Signing happens before a request is sent, so the keys are
replaced at the signer; a client that is made under a fake looks its credentials up later, if it ever needs them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from inspect import signature
from typing import Any

from converse_harness.intercept import registry
from converse_harness.intercept.clients import ACCESS_KEY, BEARER_TOKEN, REGION, SECRET_KEY
from converse_harness.intercept.registry import CURRENT_CALL

CREATING: ContextVar[bool] = ContextVar("converse_harness_creating", default=False)
"""True while a client for Bedrock is being made under a fake: its credentials are looked up later, if ever."""


def is_bedrock(name: object) -> bool:
    """Whether a service is answered by fakes: by service name, service id or endpoint prefix."""
    return str(name)[:7].lower() == "bedrock"


class DummyCredentials:
    """Keys that are none."""

    method = "converse-harness"
    access_key = ACCESS_KEY
    secret_key = SECRET_KEY
    token = account_id = None

    def get_frozen_credentials(self) -> Any:
        """What a signer asks for."""
        from botocore.credentials import ReadOnlyCredentials

        return ReadOnlyCredentials(ACCESS_KEY, SECRET_KEY, None)


def sign_with_dummies(original: Any) -> Any:
    """`RequestSigner.get_auth_instance`: real keys and tokens are never used while a fake answers."""

    @functools.wraps(original)
    def get_auth_instance(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not signs_for_fake(self):
            return remembered(self, original(self, *args, **kwargs))
        return original(with_dummies(self, DummyCredentials()), *args, **without_keys(kwargs))

    return get_auth_instance


def remembered(signer: Any, auth: Any) -> Any:
    """What signs a request, once what it signs with is known as a secret that no recording may hold."""
    if is_bedrock(signer._service_id):
        from converse_harness.secrets import remember

        keys, token = getattr(auth, "credentials", None), getattr(auth, "auth_token", None)
        remember(*(getattr(keys, name, None) for name in ("access_key", "secret_key", "token")))
        remember(getattr(token, "token", None))
    return auth


def signs_for_fake(signer: Any) -> bool:
    """Whether this signer's request will be answered, or refused, by a fake."""
    return is_bedrock(signer._service_id) and registry.blocking_fake() is not None


def with_dummies(signer: Any, credentials: object) -> Any:
    """A copy of the signer that has dummy keys and a dummy bearer token."""
    kind: Any = signer.__class__
    dummy: Any = kind.__new__(kind)  # copy.copy() takes ten times as long, and every call comes here
    dummy.__dict__.update(signer.__dict__, _credentials=credentials, _auth_token=_dummy_token())
    return dummy


@functools.cache
def _dummy_token() -> Any:
    from botocore.tokens import FrozenAuthToken

    return FrozenAuthToken(BEARER_TOKEN)


def without_keys(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments for the signer without credentials that come with the request."""
    return {name: value for name, value in kwargs.items() if name != "request_credentials"}


class DeferredCredentials:
    """What a client made under a fake holds in place of credentials: its session's, looked up when they are needed.

    So no credential chain runs (and no metadata service is asked) for a client that only ever talks to a fake, and the
    same client works for real once no fake is open.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def _resolve(self) -> Any:
        return DummyCredentials() if registry.blocking_fake() is not None else self._session.get_credentials()

    def get_frozen_credentials(self) -> Any:
        """What a signer asks for; None where the session has no credentials."""
        credentials = self._resolve()
        return None if credentials is None else credentials.get_frozen_credentials()

    def get_deferred_property(self, property_name: str) -> Callable[[], Any]:
        """What an endpoint rule may ask for."""
        return lambda: getattr(self._resolve(), property_name, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._resolve(), name)


def defer_credentials(original: Any) -> Any:
    """`Session.get_credentials`: unchanged, except for a client for Bedrock that is being made under a fake."""

    @functools.wraps(original)
    def get_credentials(self: Any) -> Any:
        if CREATING.get() and self._credentials is None:
            return DeferredCredentials(self)
        return original(self)

    return get_credentials


def know_no_region(original: Any) -> Any:
    """`IMDSRegionProvider.provide`, which defaults_mode=auto asks: a client made under a fake asks no machine."""

    @functools.wraps(original)
    def provide(self: Any) -> Any:
        return None if CREATING.get() else original(self)

    return provide


def create_without_keys(original: Any) -> Any:
    """`Session.create_client`: a client for Bedrock needs neither credentials nor a region while a fake is open."""

    @functools.wraps(original)
    def create_client(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = bind_for_fake(original, self, args, kwargs)
        if bound is None:
            return original(self, *args, **kwargs)
        before = CREATING.get()
        CREATING.set(True)
        try:
            return original(*bound.args, **bound.kwargs)
        finally:
            CREATING.set(before)

    return create_client


def bind_for_fake(original: Any, session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments with a region, or None for a client that is none of ours."""
    if registry.blocking_fake() is None or not is_bedrock(args[0] if args else kwargs.get("service_name")):
        return None
    bound = signature(original).bind(session, *args, **kwargs)
    given = (bound.arguments.get("config"), session.get_default_client_config())
    regions = [bound.arguments.get("region_name"), *(getattr(config, "region_name", None) for config in given)]
    if not any(regions) and session.get_config_variable("region") is None:
        bound.arguments["region_name"] = REGION
    return bound


_Book = Callable[[float], None]
"""Takes note of a wait that is skipped, in seconds."""


def _skips_call_waits() -> _Book | None:
    """Books the waits of the call that runs here; None where they are slept."""
    held = CURRENT_CALL.get()
    fake = None if held is None else held.skips_waits
    return None if held is None or fake is None else lambda seconds: fake.waited(seconds, held.call)


def _skips_any_waits() -> _Book | None:
    """Books waits between calls; None where they are slept."""
    fake = registry.current()
    return None if fake is None or fake.sleeps else fake.waited


class _Module:
    """Stands for a module in one library; everything but `sleep` is the real one's."""

    def __init__(self, real: Any, sleep: Callable[[float], Any]) -> None:
        self._real = real
        self.sleep = sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def without_sleep(time: Any) -> Any:
    """The reference to `time` in `botocore.endpoint`."""

    def sleep(seconds: float) -> None:
        book = _skips_call_waits()
        if book is None:
            time.sleep(seconds)
        else:
            book(seconds)

    return _Module(time, sleep)


def _without_async_sleep(skips: Callable[[], _Book | None]) -> Callable[[Any], Any]:
    """The reference to `asyncio` in a library that waits while `skips` gives who books it."""

    def replace(asyncio: Any) -> Any:
        async def sleep(seconds: float, *args: Any, **kwargs: Any) -> Any:
            book = skips()
            if book is not None:
                book(seconds)
                seconds = 0
            # Even a skipped wait yields: other tasks run in it as they do in a real one.
            return await asyncio.sleep(seconds, *args, **kwargs)

        return _Module(asyncio, sleep)

    return replace


without_call_waits = _without_async_sleep(_skips_call_waits)
without_test_waits = _without_async_sleep(_skips_any_waits)


def without_anyio_sleep(original: Any) -> Any:
    """`AnyioEndpoint._sleep`, which also runs under trio."""

    @functools.wraps(original)
    async def _sleep(self: Any, sleep_amount: float) -> None:
        book = _skips_call_waits()
        if book is not None:
            book(sleep_amount)
            sleep_amount = 0
        await original(self, sleep_amount)

    return _sleep


def _missing_time(bucket: Any, amount: float) -> float:
    """How long a token bucket would wait for `amount`, in seconds."""
    return float((amount - bucket.available_capacity) / bucket.max_rate)


def acquire_at_once(original: Any) -> Any:
    """`TokenBucket.acquire`: adaptive mode goes on where it would wait for capacity."""
    from botocore.exceptions import CapacityNotAvailableError

    @functools.wraps(original)
    def acquire(self: Any, amount: float = 1, block: bool = True) -> Any:
        book = _skips_call_waits()
        if book is None or not block:
            return original(self, amount, block)
        try:
            return original(self, amount, False)
        except CapacityNotAvailableError:
            book(_missing_time(self, amount))
            return True

    return acquire


def acquire_at_once_async(original: Any) -> Any:
    """`AsyncTokenBucket.acquire`, the same for aiobotocore."""
    from botocore.exceptions import CapacityNotAvailableError

    @functools.wraps(original)
    async def acquire(self: Any, amount: float = 1, block: bool = True) -> Any:
        book = _skips_call_waits()
        if book is None or not block:
            return await original(self, amount, block)
        try:
            return await original(self, amount, False)
        except CapacityNotAvailableError:
            book(_missing_time(self, amount))
            return True

    return acquire


def without_drain(original: Any) -> Any:
    """`RetryQuota.acquire`: the thousandth call is retried as often as the first."""

    @functools.wraps(original)
    def acquire(self: Any, capacity_amount: int) -> Any:
        held = CURRENT_CALL.get()
        return original(self, capacity_amount) if held is None or held.records else True

    return acquire
