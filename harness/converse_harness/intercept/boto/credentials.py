"""Give Bedrock clients of botocore and aiobotocore dummy keys and a default region while a fake is open.

The environment and the clients of all other services are unchanged. botocore signs a request before it sends the
request, so the signer's keys are replaced. A client that is created under a fake looks up its real credentials only
when a request to the real service needs them. The functions with a parameter `original` make the replacements that the
table in `patch_points` lists.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from inspect import iscoroutinefunction, signature, unwrap
from typing import Any

from converse_harness.intercept.clients import ACCESS_KEY, BEARER_TOKEN, REGION, SECRET_KEY
from converse_harness.intercept.patches import replacement
from converse_harness.intercept.registry import OPEN_FAKES, assigned

CREATING: ContextVar[bool] = ContextVar("converse_harness_creating", default=False)
"""True while a Bedrock client is being created under a fake or under the guard of a session. During this time, no
credentials are looked up."""


@functools.lru_cache(maxsize=512)
def is_bedrock(name: str) -> bool:
    """Whether a service name, service id or endpoint prefix is that of a Bedrock service: it begins with "bedrock"."""
    return name[:7].lower() == "bedrock"


class DummyCredentials:
    """Credentials with fixed dummy keys, for botocore's signers."""

    method = "converse-harness"
    access_key = ACCESS_KEY
    secret_key = SECRET_KEY
    token = account_id = None

    def get_frozen_credentials(self) -> Any:
        """Return the dummy keys as botocore's ReadOnlyCredentials; signers call this method."""
        from botocore.credentials import ReadOnlyCredentials  # an import at the top of the module would be circular

        return ReadOnlyCredentials(ACCESS_KEY, SECRET_KEY, None)


def _is_async(original: Any) -> bool:
    """Whether a function, or the function that it wraps, is a coroutine function, as in aiobotocore."""
    return iscoroutinefunction(unwrap(original))


class _AioDummyCredentials(DummyCredentials):
    """Credentials with fixed dummy keys, for aiobotocore's signers, which await the keys."""

    async def get_frozen_credentials(self) -> Any:
        """Return the dummy keys as botocore's ReadOnlyCredentials; signers await this method."""
        return super().get_frozen_credentials()


def sign_with_dummies(original: Any) -> Any:
    """Replace `get_auth_instance` of botocore's or aiobotocore's signer: calls to Bedrock under a fake use dummy keys.

    The real keys of calls to the real Bedrock are stored as secrets. No recording may contain a stored secret.
    """
    from botocore.tokens import FrozenAuthToken

    token = FrozenAuthToken(BEARER_TOKEN)
    is_async = _is_async(original)
    dummies, with_keys = (_AioDummyCredentials(), _remembered_async) if is_async else (DummyCredentials(), _remembered)

    @functools.wraps(original)
    def get_auth_instance(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_bedrock(self._service_id) or OPEN_FAKES.fake_that_blocks() is None:
            return with_keys(self, original(self, *args, **kwargs))
        kwargs.pop("request_credentials", None)
        signer: Any = self.__class__.__new__(
            self.__class__
        )  # copy.copy(self) would take ten times as long, and this code runs for every call
        signer.__dict__.update(self.__dict__, _credentials=dummies, _auth_token=token)
        return original(signer, *args, **kwargs)

    return get_auth_instance


def _remembered(signer: Any, auth: Any) -> Any:
    """Store the keys and the token of a Bedrock signer as secrets that no recording may contain. Return `auth`."""
    if is_bedrock(signer._service_id):
        from converse_harness.secrets.process import remember

        keys, token = getattr(auth, "credentials", None), getattr(auth, "auth_token", None)
        remember(*(getattr(keys, name, None) for name in ("access_key", "secret_key", "token")))
        remember(getattr(token, "token", None))
    return auth


async def _remembered_async(signer: Any, auth: Any) -> Any:
    return _remembered(signer, await auth)


class DeferredCredentials:
    """The credentials of a client that was created under a fake or under the guard of a session.

    They look up the session's real credentials only when a call to the real service needs them. Therefore a client that
    only calls a fake never runs the credential chain and never contacts a metadata service. The same client can call
    the real service when no fake is open.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def _resolve(self) -> Any:
        dummies = CREATING.get() or OPEN_FAKES.fake_that_blocks() is not None
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
        if OPEN_FAKES.fake_that_blocks() is not None:
            return DummyCredentials().get_frozen_credentials()
        credentials = await self._session.get_credentials()
        return None if credentials is None else await credentials.get_frozen_credentials()

    async def get_account_id(self) -> Any:
        """Return the account id, which aiobotocore's endpoint rules use; None without credentials."""
        frozen = await self.get_frozen_credentials()
        return None if frozen is None else frozen.account_id

    def _resolve(self) -> Any:
        # Reading an attribute cannot await the credential chain. Therefore the attributes have dummy values until a
        # request has run the chain. (In aiobotocore itself, refreshable credentials have no values before their first
        # refresh.)
        return self._session._credentials or DummyCredentials()


@replacement
def defer_credentials(original: Any, self: Any) -> Any:
    """Replace `get_credentials` of botocore's or aiobotocore's session.

    While CREATING is true, the replacement returns DeferredCredentials, unless the session already has credentials.
    """
    if not CREATING.get() or self._credentials is not None:
        return original(self)
    return _awaitable(_AioDeferredCredentials(self)) if _is_async(original) else DeferredCredentials(self)


@replacement
def know_no_region(original: Any, self: Any) -> Any:
    """Replace `provide` of botocore's or aiobotocore's IMDSRegionProvider: it returns None while CREATING is true.

    With `defaults_mode=auto`, the original would ask the metadata service for the region.
    """
    if not CREATING.get():
        return original(self)
    return _awaitable(None) if _is_async(original) else None


async def _awaitable(value: object) -> object:
    return value


@replacement
def create_without_keys(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Replace `create_client` of botocore's or aiobotocore's session.

    Under a fake, the replacement creates Bedrock clients even if no credentials and no region are configured. Under the
    guard of a session, it creates them even if no credentials can be loaded, so that the guard sees their requests.
    """
    if OPEN_FAKES.blocker() is None or not is_bedrock(str(args[0] if args else kwargs.get("service_name"))):
        return original(self, *args, **kwargs)
    bound = signature(original).bind(self, *args, **kwargs)
    # If only the guard of a session is active, no region is added, because no fake answers the client's requests.
    if OPEN_FAKES.fake_that_blocks() is not None and not _has_region(self, bound.arguments):
        bound.arguments["region_name"] = REGION
    if _is_async(original):
        return _created(original(*bound.args, **bound.kwargs))
    with assigned(CREATING, True):
        return original(*bound.args, **bound.kwargs)


async def _created(client: Awaitable[Any]) -> Any:
    with assigned(CREATING, True):
        return await client


def _has_region(session: Any, arguments: Mapping[str, Any]) -> bool:
    configs = (arguments.get("config"), session.get_default_client_config())
    regions = [arguments.get("region_name"), *(getattr(config, "region_name", None) for config in configs)]
    return any(regions) or session.get_config_variable("region") is not None
