"""Give Bedrock clients of botocore and aiobotocore dummy keys and a default region while a fake is open.

The environment and the clients of all other services are unchanged. botocore signs a request before it sends the
request, so the signer's keys are replaced. A client that is created under a fake looks up its real credentials only
when a request to the real service needs them.
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
"""True while a Bedrock client is being created under a fake or under the guard of a session. During this time, no
credentials are looked up."""


@functools.lru_cache(maxsize=512)
def is_bedrock(name: str) -> bool:
    """Whether a service name, service id or endpoint prefix belongs to a Bedrock service. Fakes answer only these
    services.
    """
    return name[:7].lower() == "bedrock"


class DummyCredentials:
    """Credentials with fixed dummy keys, for botocore's signers."""

    method = "converse-harness"
    access_key = ACCESS_KEY
    secret_key = SECRET_KEY
    token = account_id = None

    def get_frozen_credentials(self) -> Any:
        """Return the dummy keys as botocore's ReadOnlyCredentials; signers call this method."""
        return _frozen_dummies()


def _is_async(original: Any) -> bool:
    """Whether a function is a coroutine function, as in aiobotocore; wrappers of other tools are removed first."""
    return iscoroutinefunction(unwrap(original))


@functools.cache
def _frozen_dummies() -> Any:
    from botocore.credentials import ReadOnlyCredentials

    return ReadOnlyCredentials(ACCESS_KEY, SECRET_KEY, None)


class _AioDummyCredentials(DummyCredentials):
    """Credentials with fixed dummy keys, for aiobotocore's signers."""

    async def get_frozen_credentials(self) -> Any:
        """Return the dummy keys as botocore's ReadOnlyCredentials; signers await this method."""
        return _frozen_dummies()


def sign_with_dummies(original: Any) -> Any:
    """Replace `get_auth_instance` of botocore's or aiobotocore's signer: calls to Bedrock under a fake use dummy keys.

    The real keys of other calls to Bedrock are stored as secrets. No recording may contain a stored secret.
    """
    is_async = _is_async(original)
    dummies, with_keys = (_AioDummyCredentials(), _remembered_async) if is_async else (DummyCredentials(), _remembered)

    @functools.wraps(original)
    def get_auth_instance(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_bedrock(self._service_id) or registry.blocking_fake() is None:
            return with_keys(self, original(self, *args, **kwargs))
        kwargs.pop("request_credentials", None)
        kind: Any = self.__class__
        signer: Any = kind.__new__(kind)  # copy.copy() takes ten times as long, and every call runs this
        signer.__dict__.update(self.__dict__, _credentials=dummies, _auth_token=_dummy_token())
        return original(signer, *args, **kwargs)

    return get_auth_instance


def _remembered(signer: Any, auth: Any) -> Any:
    """Store the keys and the token of a Bedrock signer as secrets that no recording may contain. Return `auth`."""
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
    """The credentials of a client that was created under a fake or under the guard of a session.

    They look up the session's real credentials only when a call to the real service needs them. Therefore a client that
    only calls a fake never runs the credential chain and never contacts a metadata service. The same client can call
    the real service when no fake is open.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def _resolve(self) -> Any:
        dummies = CREATING.get() or registry.blocking_fake() is not None
        return DummyCredentials() if dummies else self._session.get_credentials()

    def get_frozen_credentials(self) -> Any:
        """Return the credentials for a signer; None if the session has none."""
        credentials = self._resolve()
        return None if credentials is None else credentials.get_frozen_credentials()

    def get_deferred_property(self, property_name: str) -> Callable[[], Any]:
        """Return a function that returns one attribute of the credentials. botocore's endpoint rules use it."""
        return lambda: getattr(self._resolve(), property_name, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._resolve(), name)


class _AioDeferredCredentials(DeferredCredentials):
    """DeferredCredentials for aiobotocore, whose signers await the lookup."""

    async def get_frozen_credentials(self) -> Any:
        """Return the credentials for a signer; None if the session has none."""
        if registry.blocking_fake() is not None:
            return DummyCredentials().get_frozen_credentials()
        credentials = await self._session.get_credentials()
        return None if credentials is None else await credentials.get_frozen_credentials()

    async def get_account_id(self) -> Any:
        """Return the account id; aiobotocore's endpoint rules use it."""
        frozen = await self.get_frozen_credentials()
        return None if frozen is None else frozen.account_id

    def _resolve(self) -> Any:
        # Reading an attribute cannot await the credential chain. Therefore the attributes have dummy values until a
        # request has run the chain. (In aiobotocore itself, refreshable credentials have no values before their first
        # refresh.)
        found = self._session._credentials
        return DummyCredentials() if found is None else found


def defer_credentials(original: Any) -> Any:
    """Replace `get_credentials` of botocore's or aiobotocore's session.

    While CREATING is true, the replacement returns deferred credentials, unless the session already has credentials.
    """
    is_async = _is_async(original)

    @functools.wraps(original)
    def get_credentials(self: Any) -> Any:
        if CREATING.get() and self._credentials is None:
            return _awaitable(_AioDeferredCredentials(self)) if is_async else DeferredCredentials(self)
        return original(self)

    return get_credentials


def know_no_region(original: Any) -> Any:
    """Replace `provide` of botocore's or aiobotocore's IMDSRegionProvider: it returns None while CREATING is true.

    With `defaults_mode=auto`, the original would ask the metadata service for the region.
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
    """Replace `create_client` of botocore's or aiobotocore's session.

    Under a fake, the replacement creates Bedrock clients even if no credentials and no region are configured. Under the
    guard of a session, it creates them even if no credentials can be loaded, so that the guard sees their requests.
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
    """Bind the arguments of `create_client` to its parameters. Under a fake, add a default region if there is none.

    Return None if calls to Bedrock are allowed, or if the client is not for a Bedrock service.
    """
    if registry.closing() is None or not is_bedrock(str(args[0] if args else kwargs.get("service_name"))):
        return None
    bound = signature(original).bind(session, *args, **kwargs)
    if registry.blocking_fake() is None:
        return bound  # the guard of a session answers no request
    given = (bound.arguments.get("config"), session.get_default_client_config())
    regions = [bound.arguments.get("region_name"), *(getattr(config, "region_name", None) for config in given)]
    if not any(regions) and session.get_config_variable("region") is None:
        bound.arguments["region_name"] = REGION
    return bound
