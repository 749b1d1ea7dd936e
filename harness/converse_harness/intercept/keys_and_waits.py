"""botocore's work around a call while a fake is open: dummy keys, a default region, and no retry waits.

The environment and every other service stay as they are. Signing happens before a request is sent, so the keys are
replaced at the signer; a client that is made under a fake looks its credentials up later, if it ever needs them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from inspect import signature
from typing import Any, Final

from converse_harness.intercept import registry
from converse_harness.intercept.clients import ACCESS_KEY, BEARER_TOKEN, REGION, SECRET_KEY
from converse_harness.intercept.registry import CURRENT_CALL

CREATING: ContextVar[bool] = ContextVar("converse_harness_creating", default=False)
"""True while a client for Bedrock is being made under a fake: its credentials are looked up later, if ever."""


@functools.lru_cache(maxsize=512)
def is_bedrock(name: str) -> bool:
    """Whether a service is answered by fakes: by service name, service id or endpoint prefix."""
    return name[:7].lower() == "bedrock"


class DummyCredentials:
    """Dummy credentials."""

    method = "converse-harness"
    access_key = ACCESS_KEY
    secret_key = SECRET_KEY
    token = account_id = None

    def get_frozen_credentials(self) -> Any:
        """Return these credentials; signers call it."""
        return _frozen_dummies()


@functools.cache
def _frozen_dummies() -> Any:
    from botocore.credentials import ReadOnlyCredentials

    return ReadOnlyCredentials(ACCESS_KEY, SECRET_KEY, None)


_DUMMIES: Final = DummyCredentials()


def sign_with_dummies(original: Any) -> Any:
    """`RequestSigner.get_auth_instance`: while a fake answers, real keys and tokens are never used."""

    @functools.wraps(original)
    def get_auth_instance(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not signs_for_fake(self):
            return remembered(self, original(self, *args, **kwargs))
        kwargs.pop("request_credentials", None)
        return original(with_dummies(self, _DUMMIES), *args, **kwargs)

    return get_auth_instance


def remembered(signer: Any, auth: Any) -> Any:
    """Return `auth`, after remembering its keys as secrets that no recording may contain."""
    if is_bedrock(signer._service_id):
        from converse_harness.secrets import remember

        keys, token = getattr(auth, "credentials", None), getattr(auth, "auth_token", None)
        remember(*(getattr(keys, name, None) for name in ("access_key", "secret_key", "token")))
        remember(getattr(token, "token", None))
    return auth


def signs_for_fake(signer: Any) -> bool:
    """Whether a fake will answer or refuse this signer's request."""
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


class DeferredCredentials:
    """The credentials of a client that was made under a fake: the session's real ones are looked up when first needed.

    So no credential chain runs (and no metadata service is asked) for a client that only ever talks to a fake, and the
    same client works for real once no fake is open.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def _resolve(self) -> Any:
        return DummyCredentials() if registry.blocking_fake() is not None else self._session.get_credentials()

    def get_frozen_credentials(self) -> Any:
        """Return the credentials for a signer; None if the session has none."""
        credentials = self._resolve()
        return None if credentials is None else credentials.get_frozen_credentials()

    def get_deferred_property(self, property_name: str) -> Callable[[], Any]:
        """Return a property for endpoint rules."""
        return lambda: getattr(self._resolve(), property_name, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._resolve(), name)


def defer_credentials(original: Any) -> Any:
    """`Session.get_credentials`: unchanged, except while a Bedrock client is made under a fake."""

    @functools.wraps(original)
    def get_credentials(self: Any) -> Any:
        if CREATING.get() and self._credentials is None:
            return DeferredCredentials(self)
        return original(self)

    return get_credentials


def know_no_region(original: Any) -> Any:
    """`IMDSRegionProvider.provide`, for defaults_mode=auto: a client made under a fake contacts no metadata service."""

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
    """The arguments with a region; None for a client of another service."""
    if registry.blocking_fake() is None or not is_bedrock(str(args[0] if args else kwargs.get("service_name"))):
        return None
    bound = signature(original).bind(session, *args, **kwargs)
    given = (bound.arguments.get("config"), session.get_default_client_config())
    regions = [bound.arguments.get("region_name"), *(getattr(config, "region_name", None) for config in given)]
    if not any(regions) and session.get_config_variable("region") is None:
        bound.arguments["region_name"] = REGION
    return bound


def _skips_of_call(seconds: float) -> bool:
    """Whether a retry wait of the running call is skipped; its fake takes note of it then."""
    held = CURRENT_CALL.get()
    if held is None or held.entry.responder.sleeps:
        return False
    held.entry.responder.waited(seconds, held.call)
    return True


def _skips_of_test(seconds: float) -> bool:
    """The same outside a call, for the newest fake."""
    fake = registry.current()
    if fake is None or fake.sleeps:
        return False
    fake.waited(seconds)
    return True


class _Module:
    """Replaces a module inside one library; all attributes but `sleep` are the real module's."""

    def __init__(self, real: Any, sleep: Callable[..., Any]) -> None:
        self._real = real
        self.sleep = sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def without_sleep(time: Any) -> Any:
    """The name `time` in `botocore.endpoint`, replaced so that retry waits are skipped."""
    return _Module(time, lambda seconds: None if _skips_of_call(seconds) else time.sleep(seconds))


def _without_async_sleep(skips: Callable[[float], bool]) -> Callable[[Any], Any]:
    """The name `asyncio` in a library, replaced so that waits that `skips` takes note of are skipped."""

    def replace(asyncio: Any) -> Any:
        async def sleep(seconds: float, *args: Any, **kwargs: Any) -> Any:
            # Even a skipped wait yields control, so that other tasks run, as during a real wait.
            return await asyncio.sleep(0 if skips(seconds) else seconds, *args, **kwargs)

        return _Module(asyncio, sleep)

    return replace


without_call_waits = _without_async_sleep(_skips_of_call)
without_test_waits = _without_async_sleep(_skips_of_test)


def without_anyio_sleep(original: Any) -> Any:
    """`AnyioEndpoint._sleep`, which also runs under trio."""

    @functools.wraps(original)
    async def _sleep(self: Any, sleep_amount: float) -> None:
        await original(self, 0 if _skips_of_call(sleep_amount) else sleep_amount)

    return _sleep


def _skips_filling(bucket: Any, amount: float) -> bool:
    """Whether the wait is skipped until a token bucket has filled up to `amount`."""
    return _skips_of_call((amount - bucket.available_capacity) / bucket.max_rate)


def acquire_at_once(original: Any) -> Any:
    """`TokenBucket.acquire`: adaptive mode continues instead of waiting for capacity."""
    from botocore.exceptions import CapacityNotAvailableError

    @functools.wraps(original)
    def acquire(self: Any, amount: float = 1, block: bool = True) -> Any:
        try:
            return original(self, amount, block and CURRENT_CALL.get() is None)
        except CapacityNotAvailableError:
            if not block:
                raise
            return _skips_filling(self, amount) or original(self, amount)

    return acquire


def acquire_at_once_async(original: Any) -> Any:
    """`AsyncTokenBucket.acquire`, the same for aiobotocore."""
    from botocore.exceptions import CapacityNotAvailableError

    @functools.wraps(original)
    async def acquire(self: Any, amount: float = 1, block: bool = True) -> Any:
        try:
            return await original(self, amount, block and CURRENT_CALL.get() is None)
        except CapacityNotAvailableError:
            if not block:
                raise
            return _skips_filling(self, amount) or await original(self, amount)

    return acquire


def without_drain(original: Any) -> Any:
    """`RetryQuota.acquire`: the quota never runs out, so the thousandth call is retried as often as the first."""

    @functools.wraps(original)
    def acquire(self: Any, capacity_amount: int) -> Any:
        held = CURRENT_CALL.get()
        return original(self, capacity_amount) if held is None or held.records else True

    return acquire
