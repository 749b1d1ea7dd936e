"""Every attribute of another library that is replaced while a fake is open: one table.

The patching, its error messages and the tests read it. What takes the place of an attribute is named by module and
function of this package, which is imported when the attribute is there: without aiobotocore, `aioboto` is not loaded.
Parameters that end in "..." may be more than the ones named.
"""

from __future__ import annotations

from typing import Any

from converse_harness.intercept.patches import ANY, Patches, Point

_ME = ("self",)
_SEND = ("self", "request")
_REQUEST = ("request", "...")  # other test tools replace them too, with functions that have no self
_CALL = ("self", "request_dict", "operation_model")
_RESPONSE = ("self", "url", "status_code", "headers", "raw")
_ATTEMPT = ("self", "request", "operation_model", "context")
_SIGN = ("self", "signing_name", "region_name", "signature_version", "request_credentials", "...")
_CLIENT = ("self", "service_name", "region_name", "config", "...")
_BUCKET = ("self", "amount", "block")
_QUOTA = ("self", "capacity_amount")
_AIO_SLEEP = ("self", "sleep_amount")
_HOOK = ("self", "event_name", "request", "kwargs")
_HOST = ("self", "host", "...")
_SNI = ("self", "server_hostname", "...")
_PUT = ("self", "method", "url", "...")
_WRITE = ("self", "data", "...")
_POPEN = ("self", "args", "env", "...")


def _boto(module: str, attribute: str, parameters: tuple[str, ...] | None, replace: str | None, **more: Any) -> Point:
    return Point(module, attribute, parameters, replace, eager=True, **more)


POINTS = (
    # Calls
    _boto("botocore.endpoint", "Endpoint._send_request", _CALL, "boto.hold_call"),
    _boto("botocore.endpoint", "Endpoint._do_get_response", _ATTEMPT, None, mentions=("_send",)),
    _boto("botocore.endpoint", "Endpoint._send", _SEND, "boto.answer"),
    _boto("botocore.awsrequest", "AWSResponse.__init__", _RESPONSE, "forward_boto.capture_response"),
    Point("aiobotocore.endpoint", "AioEndpoint._send_request", _CALL, "aioboto.hold_call"),
    Point("aiobotocore.endpoint", "AioEndpoint._do_get_response", _ATTEMPT, None, mentions=("_send",)),
    Point("aiobotocore.endpoint", "AioEndpoint._send", _SEND, "aioboto.answer"),
    Point("moto.core.botocore_stubber", "BotocoreStubber.__call__", _HOOK, "boto.leave_bedrock"),
    # Keys and region
    _boto("botocore.signers", "RequestSigner.get_auth_instance", _SIGN, "keys_and_waits.sign_with_dummies"),
    _boto("botocore.session", "Session.get_credentials", _ME, "keys_and_waits.defer_credentials"),
    _boto("botocore.session", "Session.create_client", _CLIENT, "keys_and_waits.create_without_keys"),
    _boto("botocore.utils", "IMDSRegionProvider.provide", _ME, "keys_and_waits.know_no_region"),
    Point("aiobotocore.signers", "AioRequestSigner.get_auth_instance", _SIGN, "aioboto.sign_with_dummies"),
    Point("aiobotocore.session", "AioSession.get_credentials", _ME, "aioboto.defer_credentials"),
    Point("aiobotocore.session", "AioSession._create_client", _CLIENT, "aioboto.create_without_keys"),
    Point("aiobotocore.utils", "AioIMDSRegionProvider.provide", _ME, "aioboto.know_no_region"),
    # Waits and quotas of retries
    _boto("botocore.endpoint", "time", None, "keys_and_waits.without_sleep"),
    _boto("botocore.retries.bucket", "TokenBucket.acquire", _BUCKET, "keys_and_waits.acquire_at_once"),
    _boto("botocore.retries.quota", "RetryQuota.acquire", _QUOTA, "keys_and_waits.without_drain"),
    Point("aiobotocore.endpoint", "asyncio", None, "keys_and_waits.without_call_waits"),
    Point(
        "aiobotocore.endpoint",
        "AnyioEndpoint._sleep",
        _AIO_SLEEP,
        "keys_and_waits.without_anyio_sleep",
        since="AnyioEndpoint",
    ),
    Point("aiobotocore.retries.bucket", "AsyncTokenBucket.acquire", _BUCKET, "keys_and_waits.acquire_at_once_async"),
    Point("strands.event_loop._retry", "asyncio", None, "keys_and_waits.without_test_waits"),
    # Clients of httpx and httpx2; those of httpx are answered through respx by an HttpxFake
    Point("httpx", "HTTPTransport.handle_request", _REQUEST, "httpx_transports.handle_httpx"),
    Point("httpx", "AsyncHTTPTransport.handle_async_request", _REQUEST, "httpx_transports.handle_httpx_async"),
    Point("httpx2", "HTTPTransport.handle_request", _REQUEST, "httpx_transports.handle_httpx2"),
    Point("httpx2", "AsyncHTTPTransport.handle_async_request", _REQUEST, "httpx_transports.handle_httpx2_async"),
    # The guard
    Point("socket", "socket.connect", ANY, "guard.checked_address", inherited=True),
    Point("socket", "socket.connect_ex", ANY, "guard.checked_address", inherited=True),
    Point("socket", "socket.sendto", ANY, "guard.checked_address", inherited=True),
    Point("ssl", "SSLContext.wrap_socket", _SNI, "guard.checked_server_name"),
    Point("ssl", "SSLContext.wrap_bio", _SNI, "guard.checked_server_name", inherited=True),
    Point("asyncio.base_events", "BaseEventLoop.getaddrinfo", _HOST, "guard.checked_host"),
    Point("aiohttp.resolver", "AsyncResolver.resolve", _HOST, "guard.checked_host"),
    Point("http.client", "HTTPConnection.putrequest", _PUT, "guard.checked_http_request", optional=True),
    Point("http.client", "HTTPConnection.set_tunnel", _HOST, "guard.checked_host", optional=True),
    Point("httpcore", "HTTPConnection.handle_request", _REQUEST, "guard.checked_httpcore_request"),
    Point("httpcore", "AsyncHTTPConnection.handle_async_request", _REQUEST, "guard.checked_httpcore_request_async"),
    Point("httpcore2", "HTTPConnection.handle_request", _REQUEST, "guard.checked_httpcore_request"),
    Point("httpcore2", "AsyncHTTPConnection.handle_async_request", _REQUEST, "guard.checked_httpcore_request_async"),
    Point("ssl", "SSLSocket.send", _WRITE, "guard.checked_write"),
    Point("ssl", "SSLSocket.write", _WRITE, "guard.checked_write"),
    Point("ssl", "SSLObject.write", _WRITE, "guard.checked_write"),
    # Threads and processes
    Point("threading", "Thread.start", _ME, "guard.start_thread", inherited=True),
    Point("multiprocessing.process", "BaseProcess.start", _ME, "guard.start_process"),
    Point("subprocess", "Popen.__init__", _POPEN, "guard.start_program"),
)
"""What is replaced, with the parameters that it must have."""

PATCHES = Patches(POINTS, "guard.switch")
