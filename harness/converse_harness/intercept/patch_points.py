"""The table of all attributes of other libraries that are replaced while a fake is open.

The patching, its error messages and the tests use this table. The name `module.function` of a replacement refers to a
function in this package. The module is imported only if the attribute to replace exists: without aiobotocore, the
module `boto.aio` is not loaded. This module cannot import the replacements, because they import the registry, and the
registry imports this table. A parameter list that ends in "..." allows further parameters.
"""

from __future__ import annotations

from typing import Any

from converse_harness.intercept.patches import ANY, Patches, Point

_ME = ("self",)
_SEND = ("self", "request")
_REQUEST = ("request", "...")  # no `self`, because other test tools replace these methods by functions without `self`
_CALL = ("self", "request_dict", "operation_model")
_RESPONSE = ("self", "url", "status_code", "headers", "raw")
_ATTEMPT = ("self", "request", "operation_model", "context")
_SIGN = ("self", "signing_name", "region_name", "signature_version", "request_credentials", "...")
_CLIENT = ("self", "service_name", "region_name", "config", "...")
_RETRY = ("self", "attempts", "operation_model", "request_dict", "response", "caught_exception")
_BUCKET = ("self", "amount", "block")
_QUOTA = ("self", "capacity_amount")
_AIO_SLEEP = ("self", "sleep_amount")
_HOOK = ("self", "event_name", "request", "kwargs")
_HOST = ("self", "host", "...")
_NAME = ("host", "port", "...")
_SNI = ("self", "server_hostname", "...")
_QNAME = ("self", "qname", "...")
_TARGET = ("self", "target", "...")
_PUT = ("self", "method", "url", "...")
_WRITE = ("self", "data", "...")
_GREEN = "_original_socket"  # the class of the sockets inside eventlet's; it is not that of the module `socket`
_POPEN = ("self", "args", "env", "...")


def _boto(module: str, attribute: str, parameters: tuple[str, ...] | None, replace: str | None, **more: Any) -> Point:
    return Point(module, attribute, parameters, replace, eager=True, **more)


_POOL_ASYNC = "httpx.pools.handle_async_request"
_CONNECT = ("self", "req", "...")
_IN_BYTES = "request line and Host header in the bytes"
_IN_HTTP = "host, target and Host header"
_IN_HEAD = "URL, Host header"
_IN_TLS = f"server name; {_IN_BYTES}"


def _guard(module: str, attribute: str, parameters: tuple[str, ...], reader: str, reads: str, **more: Any) -> Point:
    return Point(module, attribute, parameters, f"guard.host_readers.{reader}", reads=reads, **more)


POINTS = (
    # Calls of boto clients
    _boto("botocore.endpoint", "Endpoint._send_request", _CALL, "boto.sync.hold_call"),
    _boto("botocore.endpoint", "Endpoint._do_get_response", _ATTEMPT, None, mentions=("_send",)),
    _boto("botocore.endpoint", "Endpoint._send", _SEND, "boto.sync.answer"),
    _boto("botocore.awsrequest", "AWSResponse.__init__", _RESPONSE, "boto.forward.capture_response"),
    Point("aiobotocore.endpoint", "AioEndpoint._send_request", _CALL, "boto.aio.hold_call"),
    Point("aiobotocore.endpoint", "AioEndpoint._do_get_response", _ATTEMPT, None, mentions=("_send",)),
    Point("aiobotocore.endpoint", "AioEndpoint._send", _SEND, "boto.aio.answer"),
    Point("moto.core.botocore_stubber", "BotocoreStubber.__call__", _HOOK, "boto.sync.leave_bedrock"),
    # Keys and region
    _boto("botocore.signers", "RequestSigner.get_auth_instance", _SIGN, "boto.credentials.sign_with_dummies"),
    _boto("botocore.session", "Session.get_credentials", _ME, "boto.credentials.defer_credentials"),
    _boto("botocore.session", "Session.create_client", _CLIENT, "boto.credentials.create_without_keys"),
    _boto("botocore.utils", "IMDSRegionProvider.provide", _ME, "boto.credentials.know_no_region"),
    Point("aiobotocore.signers", "AioRequestSigner.get_auth_instance", _SIGN, "boto.credentials.sign_with_dummies"),
    Point("aiobotocore.session", "AioSession.get_credentials", _ME, "boto.credentials.defer_credentials"),
    Point("aiobotocore.session", "AioSession._create_client", _CLIENT, "boto.credentials.create_without_keys"),
    Point("aiobotocore.utils", "AioIMDSRegionProvider.provide", _ME, "boto.credentials.know_no_region"),
    # Waits and quotas of retries
    _boto("botocore.endpoint", "Endpoint._needs_retry", _RETRY, "boto.retries.with_attempts"),
    _boto("botocore.endpoint", "time", None, "boto.retries.without_call_sleep"),
    _boto("botocore.retries.bucket", "TokenBucket.acquire", _BUCKET, "boto.retries.acquire_at_once"),
    _boto("botocore.retries.quota", "RetryQuota.acquire", _QUOTA, "boto.retries.without_drain"),
    Point("aiobotocore.endpoint", "AioEndpoint._needs_retry", _RETRY, "boto.retries.with_attempts"),
    Point("aiobotocore.endpoint", "asyncio", None, "boto.retries.without_call_waits"),
    Point(
        "aiobotocore.endpoint",
        "AnyioEndpoint._sleep",
        _AIO_SLEEP,
        "boto.retries.without_anyio_sleep",
        since="AnyioEndpoint",
    ),
    Point("aiobotocore.retries.bucket", "AsyncTokenBucket.acquire", _BUCKET, "boto.retries.acquire_at_once_async"),
    Point("strands.event_loop._retry", "asyncio", None, "boto.retries.without_test_waits"),
    Point("litellm.router_python_host", "asyncio", None, "boto.retries.without_test_waits", since="PythonHost"),
    Point("litellm.router_python_host", "time", None, "boto.retries.without_test_sleep", since="PythonHost"),
    # Clients of httpx and httpx2. (If an HttpxFake does not record, it answers the clients of httpx through respx.)
    Point("httpx", "HTTPTransport.handle_request", _REQUEST, "httpx.transports.handle_request"),
    Point("httpx", "AsyncHTTPTransport.handle_async_request", _REQUEST, "httpx.transports.handle_async_request"),
    Point("httpx2", "HTTPTransport.handle_request", _REQUEST, "httpx.transports.handle_request"),
    Point("httpx2", "AsyncHTTPTransport.handle_async_request", _REQUEST, "httpx.transports.handle_async_request"),
    # Clients of aiohttp. The guard checks the requests that no fake answers.
    Point(
        "aiohttp.connector", "BaseConnector.connect", _CONNECT, "aiohttp.connector.connect", reads="URL, Host header"
    ),
    # The guard: calls that begin a connection
    _guard("socket", "socket.connect", ANY, "address", "its address"),
    _guard("socket", "socket.connect_ex", ANY, "address", "its address"),
    _guard("socket", "socket.sendto", ANY, "address", "its address"),
    _guard("ssl", "SSLContext.wrap_socket", _SNI, "by_name", "the server name"),
    _guard("ssl", "SSLContext.wrap_bio", _SNI, "by_name", "the server name"),
    _guard("asyncio.base_events", "BaseEventLoop.getaddrinfo", _HOST, "by_name", "the name"),
    _guard("uvloop", "Loop.create_connection", ANY, "connection_of_loop", "the host, the server name"),
    _guard("uvloop", "Loop.getaddrinfo", ANY, "second", "the name"),
    _guard("uvloop", "Loop.sock_connect", ANY, "address", "its address"),
    _guard("gevent.socket", "getaddrinfo", _NAME, "by_name", "the name"),
    _guard("gevent.socket", "gethostbyname", ("hostname",), "by_name", "the name"),
    _guard("eventlet.green.socket", "getaddrinfo", _NAME, "by_name", "the name"),
    _guard("eventlet.greenio.base", f"{_GREEN}.connect", ANY, "address", "its address", since=_GREEN),
    _guard("eventlet.greenio.base", f"{_GREEN}.connect_ex", ANY, "address", "its address", since=_GREEN),
    _guard("aiohttp.resolver", "AsyncResolver.resolve", _HOST, "by_name", "the name"),
    _guard("dns.resolver", "Resolver.resolve", _QNAME, "by_name", "the name"),
    _guard("dns.asyncresolver", "Resolver.resolve", _QNAME, "by_name", "the name"),
    _guard("grpc._channel", "Channel.__init__", _TARGET, "by_name", "the target"),
    _guard("grpc.aio._channel", "Channel.__init__", _TARGET, "by_name", "the target"),
    _guard("http.client", "HTTPConnection.set_tunnel", _HOST, "by_name", "the host of the tunnel", optional=True),
    _guard("_awscrt", "http_client_connection_new", ANY, "second", "the host"),
    # The guard: calls that write a request
    _guard("http.client", "HTTPConnection.putrequest", _PUT, "http_request", "host, tunnel, URL", optional=True),
    Point("httpcore", "ConnectionPool.handle_request", _REQUEST, "httpx.pools.handle_request", reads=_IN_HTTP),
    Point("httpcore", "AsyncConnectionPool.handle_async_request", _REQUEST, _POOL_ASYNC, reads=_IN_HTTP),
    _guard("httpcore", "HTTPConnection.handle_request", _REQUEST, "httpcore_connection", _IN_HTTP),
    _guard("httpcore", "AsyncHTTPConnection.handle_async_request", _REQUEST, "httpcore_connection", _IN_HTTP),
    Point("httpcore2", "ConnectionPool.handle_request", _REQUEST, "httpx.pools.handle_request", reads=_IN_HTTP),
    Point("httpcore2", "AsyncConnectionPool.handle_async_request", _REQUEST, _POOL_ASYNC, reads=_IN_HTTP),
    _guard("httpcore2", "HTTPConnection.handle_request", _REQUEST, "httpcore_connection", _IN_HTTP),
    _guard("httpcore2", "AsyncHTTPConnection.handle_async_request", _REQUEST, "httpcore_connection", _IN_HTTP),
    _guard("_awscrt", "http_client_stream_new", ANY, "awscrt_request", _IN_HTTP),
    _guard("curl_cffi.curl", "Curl.setopt", ("self", "option", "value"), "curl_option", "URL, Host header, RESOLVE"),
    Point(
        "curl_cffi.requests.session",
        "set_curl_options",
        ("curl", "..."),
        "guard.host_readers.curl_options",
        since="set_curl_options",
    ),
    _guard("pycurl", "Curl", ANY, "curl_handle", "the same"),
    _guard("trio", "SocketStream.send_all", ("self", "data"), "write", _IN_BYTES),
    _guard("trio._socket", "_SocketType.send", ANY, "write", "the same", since="_SocketType"),
    _guard("asyncio.streams", "StreamWriter.write", ("self", "data"), "stream_write", _IN_TLS),
    _guard("asyncio.streams", "StreamWriter.writelines", ("self", "data"), "stream_write", "the same"),
    _guard("socket", "socket.send", ANY, "write", _IN_BYTES),
    _guard("socket", "socket.sendall", ANY, "write", "the same"),
    _guard("socket", "socket.sendmsg", ANY, "write", "the same", since="socket.sendmsg"),
    _guard("socket", "socket.sendfile", ANY, "sent_file", "the same, in the file", since="socket.sendfile"),
    _guard("eventlet.greenio.base", f"{_GREEN}.send", ANY, "write", _IN_BYTES, since=_GREEN),
    _guard("eventlet.greenio.base", f"{_GREEN}.sendmsg", ANY, "write", "the same", since=f"{_GREEN}.sendmsg"),
    _guard("gevent.socket", "socket.send", ANY, "write", _IN_BYTES),
    _guard("gevent.socket", "socket.sendall", ANY, "write", "the same"),
    _guard("gevent.socket", "socket.sendmsg", ANY, "write", "the same"),
    _guard("gevent.ssl", "SSLSocket.send", _WRITE, "write", _IN_TLS),
    _guard("gevent.ssl", "SSLSocket.write", _WRITE, "write", "the same"),
    _guard("OpenSSL.SSL", "Connection.send", ("self", "buf", "..."), "openssl_write", "the same"),
    _guard("OpenSSL.SSL", "Connection.sendall", ("self", "buf", "..."), "openssl_write", "the same"),
    _guard("OpenSSL.SSL", "Connection.write", ("self", "buf", "..."), "openssl_write", "the same"),
    _guard("ssl", "SSLSocket.send", _WRITE, "write", _IN_TLS),
    _guard("ssl", "SSLSocket.write", _WRITE, "write", "the same"),
    _guard("ssl", "SSLObject.write", _WRITE, "write", "the same"),
    # Threads and processes
    Point("threading", "Thread.start", _ME, "guard.children.start_thread"),
    Point("multiprocessing.process", "BaseProcess.start", _ME, "guard.children.start_process"),
    Point("execnet.multi", "Group.makegateway", ("self", "..."), "guard.children.start_worker"),
    Point("subprocess", "Popen.__init__", _POPEN, "guard.children.popen"),
    Point("gevent.subprocess", "Popen.__init__", _POPEN, "guard.children.popen"),
    Point("uvloop", "Loop.subprocess_exec", ANY, "guard.children.subprocess_of_loop"),
    Point("uvloop", "Loop.subprocess_shell", ANY, "guard.children.subprocess_of_loop"),
    Point("os", "posix_spawn", ANY, "guard.children.posix_spawn", since="posix_spawn"),
    Point("os", "posix_spawnp", ANY, "guard.children.posix_spawn", since="posix_spawnp"),
)
"""The attributes that are replaced or only checked. Each Point names the parameters that the function must have."""

PATCHES = Patches(POINTS)
