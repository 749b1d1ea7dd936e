"""The boto transport for aiobotocore, whatever it sends with (aiohttp, httpx) and runs on (asyncio, trio).

aiobotocore overrides what botocore does from signing to parsing with coroutines, so each function of `boto` and
`keys_and_waits` has its counterpart here; `forward_boto` has what happens to a call that is forwarded.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from importlib import import_module
from time import monotonic
from typing import Any, cast

from converse_harness.intercept import keys_and_waits as keys
from converse_harness.intercept import registry
from converse_harness.intercept.boto import ask, outlasts, patience, wait_for
from converse_harness.intercept.capture import forwarding
from converse_harness.intercept.exchange import TransportExchange, headers
from converse_harness.intercept.forward_boto import check_captured, with_capturing_content
from converse_harness.intercept.guard import raise_blocked
from converse_harness.intercept.httpx_bodies import BREAKS
from converse_harness.intercept.reader import ResponseReader
from converse_harness.intercept.registry import CURRENT_CALL
from converse_harness.stream.http import Break


def hold_call(original: Any) -> Any:
    """`AioEndpoint._send_request`: all attempts of one call go to the fake that was open when the call began."""

    @functools.wraps(original)
    async def _send_request(self: Any, request_dict: Any, operation_model: Any) -> Any:
        held = registry.begin_call(operation_model.name, self.host) if keys.is_bedrock(self._endpoint_prefix) else None
        if held is None:
            return await original(self, request_dict, operation_model)
        before = CURRENT_CALL.get()
        try:
            CURRENT_CALL.set(held)
            return await original(self, request_dict, operation_model)
        finally:
            CURRENT_CALL.set(before)
            registry.end_call(held)

    return _send_request


def answer(original: Any) -> Any:
    """`AioEndpoint._send`: the fake answers instead of the network, or captures the network's answer."""
    response_class: Any = import_module("aiobotocore.awsrequest").AioAWSResponse

    @functools.wraps(original)
    async def _send(self: Any, request: Any) -> Any:
        fake = registry.fake_for_call(self.host) if keys.is_bedrock(self._endpoint_prefix) else None
        if fake is None:
            try:
                return await original(self, request)
            except Exception as error:
                raise_blocked(error)
                raise
        started = monotonic()
        exchange = ask(fake, self, request)
        if exchange.captured is not None:
            with forwarding(exchange, exchange.captured, with_capturing_content) as capture:
                return check_captured(capture, self, await original(self, request))
        response = exchange.response
        if response.wait:
            await _sleep_of(self)(wait_for(exchange, self, request.url))
        body = AioBody(exchange, started, self, request.url)
        if not request.stream_output and (response.broken is not None or outlasts(response, patience(self))):
            await _read_to_the_break(body, self, request.url)
        return response_class(request.url, response.status, headers(exchange), body)

    return _send


def _broken_stream(endpoint: Any, broken: Break) -> Exception:
    """The exceptions that the HTTP library of this endpoint raises to the reader of a broken stream."""
    session = type(endpoint.http_session).__module__
    errors: Any
    if session.endswith("httpxsession"):
        name, message = BREAKS[broken]
        errors = import_module(session).httpx  # httpx or httpx2
        return cast("Exception", getattr(errors, name)(message))
    errors = import_module("aiohttp")
    if broken == "stalled":
        return cast("Exception", errors.SocketTimeoutError("Timeout on reading data from socket"))
    return cast("Exception", errors.ClientPayloadError(f"Response payload is not completed: {broken}"))


async def _read_to_the_break(body: AioBody, endpoint: Any, url: str) -> None:
    """Raises aiobotocore's error for a whole body that breaks off; aiobotocore's own retry rules then apply."""
    import botocore.exceptions

    try:
        await body.read()
    except Exception as error:
        if isinstance(error, type(_broken_stream(endpoint, "stalled"))):
            raise botocore.exceptions.ReadTimeoutError(endpoint_url=url, error=error) from error
        raise botocore.exceptions.ConnectionClosedError(endpoint_url=url, request=None, error=error) from error


def _sleep_of(endpoint: Any) -> Callable[[float], Awaitable[Any]]:
    """The real sleep function for this endpoint, for the event loop in which it runs."""
    # Our replacement skips retry waits; under it is the real one. It is asyncio's with aiohttp and in older releases.
    real: Any = getattr(getattr(endpoint, "_sleep", None), "__wrapped__", None)
    if real is not None:
        return cast("Callable[[float], Awaitable[Any]]", functools.partial(real, endpoint))
    import asyncio

    return asyncio.sleep


class AioBody:
    """The raw response for an aiobotocore client; its `content`, which aiohttp's responses have, is itself.

    It avoids asynchronous generators: event loops complain about those that are dropped half read.
    """

    def __init__(self, exchange: TransportExchange, started: float, endpoint: Any, url: str) -> None:
        broken = exchange.response.broken
        failure = None if broken is None else _broken_stream(endpoint, broken)
        timed_out = functools.partial(_broken_stream, endpoint, "stalled")
        self._reader = ResponseReader(exchange, started, failure, patience=patience(endpoint), timed_out=timed_out)
        self._endpoint = endpoint
        self._due = 0.0
        self._left = b""
        self.url = url

    @property
    def content(self) -> AioBody:
        """The stream of the body, under aiohttp's name."""
        return self

    async def _take(self) -> bytes | None:
        reader = self._reader
        chunk = reader.chunk
        if chunk is not None and chunk.delay:
            # A client may give up waiting (a timeout of its own) and ask again later: the chunk stays due.
            self._due = self._due or monotonic() + reader.pause()
            await _sleep_of(self._endpoint)(max(0.0, self._due - monotonic()))
            self._due = 0.0
            chunk = reader.chunk
        if chunk is None:
            reader.finish()
            return None
        return reader.take(chunk)

    def iter_chunks(self) -> AioBody:
        """One HTTP chunk at a time, with whether it ends there."""
        return self

    def __aiter__(self) -> AioBody:
        return self

    async def __anext__(self) -> tuple[bytes, bool]:
        data = await self._take()
        if data is None:
            raise StopAsyncIteration
        return data, True

    async def read(self, amt: int = -1) -> bytes:
        """Read up to `amt` bytes; b"" at the end, and the whole rest if `amt` is negative."""
        parts = [self._left]
        while amt < 0 or not parts[-1]:
            data = await self._take()
            if data is None:
                break
            parts.append(data)
        everything = b"".join(parts)
        size = len(everything) if amt < 0 else amt
        self._left = everything[size:]
        return everything[:size]

    def at_eof(self) -> bool:
        """Whether nothing is left to read."""
        return self._reader.chunk is None and not self._left

    def close(self) -> None:
        """Close early, or drop the body unread; does nothing if an interrupt left the object half constructed."""
        if hasattr(self, "_reader"):
            self._reader.close()

    __del__ = close


class _AioDummyCredentials(keys.DummyCredentials):
    """Dummy credentials."""

    async def get_frozen_credentials(self) -> Any:
        """Return these credentials; signers call it."""
        return super().get_frozen_credentials()


class _AioDeferredCredentials(keys.DeferredCredentials):
    """The credentials of a client that was made under a fake: the session's real ones are looked up when first
    needed.
    """

    async def get_frozen_credentials(self) -> Any:
        """Return the credentials for a signer."""
        if registry.blocking_fake() is not None:
            return keys.DummyCredentials().get_frozen_credentials()
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
        return keys.DummyCredentials() if found is None else found


def sign_with_dummies(original: Any) -> Any:
    """`AioRequestSigner.get_auth_instance`: while a fake answers, real keys and tokens are never used."""

    @functools.wraps(original)
    async def get_auth_instance(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not keys.signs_for_fake(self):
            return keys.remembered(self, await original(self, *args, **kwargs))
        kwargs.pop("request_credentials", None)
        return await original(keys.with_dummies(self, _AioDummyCredentials()), *args, **kwargs)

    return get_auth_instance


def defer_credentials(original: Any) -> Any:
    """`AioSession.get_credentials`: unchanged, except while a Bedrock client is made under a fake."""

    @functools.wraps(original)
    async def get_credentials(self: Any) -> Any:
        if keys.CREATING.get() and self._credentials is None:
            return _AioDeferredCredentials(self)
        return await original(self)

    return get_credentials


def know_no_region(original: Any) -> Any:
    """`AioIMDSRegionProvider.provide`, for defaults_mode=auto: a client made under a fake contacts no metadata
    service.
    """

    @functools.wraps(original)
    async def provide(self: Any) -> Any:
        return None if keys.CREATING.get() else await original(self)

    return provide


def create_without_keys(original: Any) -> Any:
    """`AioSession._create_client`: a client for Bedrock needs neither credentials nor a region while a fake is open."""

    @functools.wraps(original)
    async def _create_client(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = keys.bind_for_fake(original, self, args, kwargs)
        if bound is None:
            return await original(self, *args, **kwargs)
        before = keys.CREATING.get()
        keys.CREATING.set(True)
        try:
            return await original(*bound.args, **bound.kwargs)
        finally:
            keys.CREATING.set(before)

    return _create_client
