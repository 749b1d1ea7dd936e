"""Keys and regions of botocore and aiobotocore while a fake is open: dummy keys, and a default region.

The environment and every other service stay as they are. Signing happens before a request is sent, so the keys are
replaced at the signer; a client that is made under a fake looks its credentials up later, if it ever needs them.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from inspect import iscoroutinefunction, signature, unwrap
from typing import Any

from converse_harness.intercept import registry
from converse_harness.intercept.clients import ACCESS_KEY, BEARER_TOKEN, REGION, SECRET_KEY

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


def _is_async(original: Any) -> bool:
    """Whether a function is aiobotocore's, even if another tool wrapped it."""
    return iscoroutinefunction(unwrap(original))


@functools.cache
def _frozen_dummies() -> Any:
    from botocore.credentials import ReadOnlyCredentials

    return ReadOnlyCredentials(ACCESS_KEY, SECRET_KEY, None)


class _AioDummyCredentials(DummyCredentials):
    """The same for aiobotocore."""

    async def get_frozen_credentials(self) -> Any:
        """Return these credentials; signers call it."""
        return _frozen_dummies()


def sign_with_dummies(original: Any) -> Any:
    """`RequestSigner.get_auth_instance`, or aiobotocore's: while a fake answers, no real key or token is used."""
    is_async = _is_async(original)
    dummies, with_keys = (_AioDummyCredentials(), _remembered_async) if is_async else (DummyCredentials(), _remembered)

    @functools.wraps(original)
    def get_auth_instance(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_bedrock(self._service_id) or registry.blocking_fake() is None:
            return with_keys(self, original(self, *args, **kwargs))
        kwargs.pop("request_credentials", None)
        kind: Any = self.__class__
        signer: Any = kind.__new__(kind)  # copy.copy() takes ten times as long, and every call comes here
        signer.__dict__.update(self.__dict__, _credentials=dummies, _auth_token=_dummy_token())
        return original(signer, *args, **kwargs)

    return get_auth_instance


def _remembered(signer: Any, auth: Any) -> Any:
    """Return `auth`, after remembering its keys as secrets that no recording may contain."""
    if is_bedrock(signer._service_id):
        from converse_harness.secrets import remember

        keys, token = getattr(auth, "credentials", None), getattr(auth, "auth_token", None)
        remember(*(getattr(keys, name, None) for name in ("access_key", "secret_key", "token")))
        remember(getattr(token, "token", None))
    return auth


async def _remembered_async(signer: Any, auth: Any) -> Any:
    return _remembered(signer, await auth)


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


class _AioDeferredCredentials(DeferredCredentials):
    """The credentials of a client that was made under a fake: the session's real ones are looked up when first
    needed.
    """

    async def get_frozen_credentials(self) -> Any:
        """Return the credentials for a signer."""
        if registry.blocking_fake() is not None:
            return DummyCredentials().get_frozen_credentials()
        credentials = await self._session.get_credentials()
        return None if credentials is None else await credentials.get_frozen_credentials()

    async def get_account_id(self) -> Any:
        """Return the account id for endpoint rules."""
        frozen = await self.get_frozen_credentials()
        return None if frozen is None else frozen.account_id

    def _resolve(self) -> Any:
        # A plain attribute cannot await the chain: before the first request it shows the dummies, as aiobotocore's own
        # refreshable credentials show nothing before their first refresh.
        found = self._session._credentials
        return DummyCredentials() if found is None else found


def defer_credentials(original: Any) -> Any:
    """`Session.get_credentials`, or aiobotocore's: unchanged, except while a Bedrock client is made under a fake."""
    is_async = _is_async(original)

    @functools.wraps(original)
    def get_credentials(self: Any) -> Any:
        if CREATING.get() and self._credentials is None:
            return _awaitable(_AioDeferredCredentials(self)) if is_async else DeferredCredentials(self)
        return original(self)

    return get_credentials


def know_no_region(original: Any) -> Any:
    """`IMDSRegionProvider.provide`, or aiobotocore's, for defaults_mode=auto: a client made under a fake contacts no
    metadata service.
    """
    is_async = _is_async(original)

    @functools.wraps(original)
    def provide(self: Any) -> Any:
        if not CREATING.get():
            return original(self)
        return _awaitable(None) if is_async else None

    return provide


async def _awaitable(value: object) -> object:
    return value


def create_without_keys(original: Any) -> Any:
    """`Session.create_client`, or aiobotocore's: a client for Bedrock needs neither credentials nor a region while a
    fake is open.
    """
    is_async = _is_async(original)

    @functools.wraps(original)
    def create_client(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = _bind_for_fake(original, self, args, kwargs)
        if bound is None:
            return original(self, *args, **kwargs)
        if is_async:
            return _created(original(*bound.args, **bound.kwargs))
        before = CREATING.get()
        CREATING.set(True)
        try:
            return original(*bound.args, **bound.kwargs)
        finally:
            CREATING.set(before)

    return create_client


async def _created(client: Awaitable[Any]) -> Any:
    before = CREATING.get()
    CREATING.set(True)
    try:
        return await client
    finally:
        CREATING.set(before)


def _bind_for_fake(original: Any, session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments with a region; None for a client of another service."""
    if registry.blocking_fake() is None or not is_bedrock(str(args[0] if args else kwargs.get("service_name"))):
        return None
    bound = signature(original).bind(session, *args, **kwargs)
    given = (bound.arguments.get("config"), session.get_default_client_config())
    regions = [bound.arguments.get("region_name"), *(getattr(config, "region_name", None) for config in given)]
    if not any(regions) and session.get_config_variable("region") is None:
        bound.arguments["region_name"] = REGION
    return bound
