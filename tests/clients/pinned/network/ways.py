"""Ways to Bedrock, one function each, that a trap in a network of its own watches: `python ways.py NAME LOG
answers|refuses`; the last word is what the fake does with clients of HTTP libraries.

A way is a generator: what comes before its `yield` happens before the fake is open, what comes after it, while it is.
"""

from __future__ import annotations

import asyncio
import http.client
import importlib.util
import multiprocessing
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Final

HOST: Final = "bedrock-runtime.us-east-1.amazonaws.com"
PATH: Final = "/model/m/converse"
URL: Final = f"https://{HOST}{PATH}"
CLEAR: Final = f"http://{HOST}{PATH}"
AT: Final = "10.99.0.2"
PROXY: Final = f"http://{AT}:80"
RAW: Final = f"POST {PATH} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 2\r\n\r\n{{}}".encode()
HEADERS: Final = {"Host": HOST}

CELLS: Final = {
    "names": "by name",
    "at an address": "at an address",
    "kept alive in clear": "kept alive in clear",
    "kept alive": "kept alive over TLS",
}
"""How every library should be tried. Each is the end of the names of ways, and what it means."""

Way = Callable[[], Iterator[None]]
WAYS: Final[dict[str, tuple[Way, str, str]]] = {}
"""Each with the package or program that it needs, and what becomes of it: "stopped", or "not stopped"."""


def way(needs: str = "", *, outcome: str = "stopped") -> Callable[[Way], Way]:
    def register(function: Way) -> Way:
        WAYS[function.__name__] = function, needs, outcome
        return function

    return register


def unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def loop_of(name: str) -> asyncio.AbstractEventLoop:
    loop: asyncio.AbstractEventLoop = import_module(name).new_event_loop()
    return loop


# Names, addresses and proxies


@way("httpx")
def httpx_names() -> Iterator[None]:
    import httpx

    yield
    httpx.post(URL, verify=False)


@way("httpx")
def httpx_async() -> Iterator[None]:
    import httpx

    async def post() -> None:
        async with httpx.AsyncClient(verify=False) as client:
            await client.post(URL)

    yield
    asyncio.run(post())


@way("httpx")
def httpx_through_a_proxy() -> Iterator[None]:
    import httpx

    yield
    httpx.post(CLEAR, proxy=PROXY)


@way("httpx")
def httpx_through_a_tunnel() -> Iterator[None]:
    import httpx

    yield
    httpx.post(URL, proxy=PROXY, verify=False)


@way("httpx")
def httpx_at_an_address() -> Iterator[None]:
    import httpx

    yield
    httpx.post(f"http://{AT}{PATH}", headers=HEADERS)


@way("httpx2")
def httpx2_at_an_address() -> Iterator[None]:
    import httpx2

    yield
    httpx2.post(f"http://{AT}{PATH}", headers=HEADERS)


@way("httpx")
def httpx_kept_alive() -> Iterator[None]:
    import httpx

    with httpx.Client(verify=False) as client:
        client.post(URL)
        yield
        client.post(URL)


@way("requests")
def requests_names() -> Iterator[None]:
    import requests

    yield
    requests.post(URL, verify=False, timeout=5)


@way("requests")
def requests_with_a_trailing_dot() -> Iterator[None]:
    import requests

    yield
    requests.post(f"https://{HOST}./", verify=False, timeout=5)


@way()
def full_width_letters() -> Iterator[None]:
    yield
    wide = "".join(chr(ord(each) + 0xFEE0) if each.isalpha() else each for each in HOST)
    http.client.HTTPConnection(wide).request("POST", PATH, b"{}", {"Host": "x"})


@way("requests")
def requests_through_a_proxy() -> Iterator[None]:
    import requests

    yield
    requests.post(CLEAR, proxies={"http": PROXY}, timeout=5)


@way("requests")
def requests_through_a_tunnel() -> Iterator[None]:
    import requests

    yield
    requests.post(URL, proxies={"https": PROXY}, verify=False, timeout=5)


@way("requests")
def requests_at_an_address() -> Iterator[None]:
    import requests

    yield
    requests.post(f"https://{AT}{PATH}", headers=HEADERS, verify=False, timeout=5)


@way("requests")
def requests_kept_alive() -> Iterator[None]:
    import requests

    with requests.Session() as session:
        session.post(URL, verify=False, timeout=5)
        yield
        session.post(URL, verify=False, timeout=5)


@way("urllib3")
def urllib3_at_an_address() -> Iterator[None]:
    import urllib3

    yield
    urllib3.PoolManager(retries=False).request("POST", f"http://{AT}{PATH}", headers=HEADERS)


@way()
def http_client_at_an_address() -> Iterator[None]:
    yield
    http.client.HTTPConnection(AT).request("POST", PATH, b"{}", HEADERS)


@way("botocore")
def botocore_session_by_hand() -> Iterator[None]:
    from botocore.awsrequest import AWSRequest
    from botocore.httpsession import URLLib3Session

    yield
    URLLib3Session(verify=False).send(AWSRequest("POST", URL, data=b"{}").prepare())


@way("aiohttp")
def aiohttp_names() -> Iterator[None]:
    yield
    asyncio.run(_aiohttp(URL))


@way("aiohttp")
def aiohttp_through_a_proxy() -> Iterator[None]:
    yield
    asyncio.run(_aiohttp(CLEAR, proxy=PROXY))


@way("aiohttp")
def aiohttp_through_a_tunnel() -> Iterator[None]:
    yield
    asyncio.run(_aiohttp(URL, proxy=PROXY))


@way("aiohttp")
def aiohttp_at_an_address() -> Iterator[None]:
    yield
    asyncio.run(_aiohttp(f"http://{AT}{PATH}", headers=HEADERS))


async def _aiohttp(url: str, **options: Any) -> None:
    import aiohttp

    async with aiohttp.ClientSession() as session, session.post(url, ssl=False, **options) as response:
        await response.read()


@way("aiohttp")
def aiohttp_kept_alive() -> Iterator[None]:
    yield from _aiohttp_kept("asyncio", URL)


@way("aiohttp")
def aiohttp_kept_alive_in_clear() -> Iterator[None]:
    yield from _aiohttp_kept("asyncio", CLEAR)


def _aiohttp_kept(loop_name: str, url: str) -> Iterator[None]:
    import aiohttp

    loop = loop_of(loop_name)

    async def made() -> aiohttp.ClientSession:
        return aiohttp.ClientSession()

    async def post() -> None:
        async with session.post(url, ssl=False) as response:
            await response.read()

    session = loop.run_until_complete(made())
    loop.run_until_complete(post())
    yield
    loop.run_until_complete(post())


@way("niquests")
def niquests_names() -> Iterator[None]:
    niquests: Any = import_module("niquests")
    yield
    niquests.post(URL, verify=False, timeout=5)


@way("niquests")
def niquests_kept_alive_in_clear() -> Iterator[None]:
    niquests: Any = import_module("niquests")
    with niquests.Session() as session:
        session.post(CLEAR, timeout=5)
        yield
        session.post(CLEAR, timeout=5)


@way("niquests")
def niquests_async_at_an_address() -> Iterator[None]:
    niquests: Any = import_module("niquests")

    async def post() -> None:
        async with niquests.AsyncSession() as session:
            await session.post(f"http://{AT}{PATH}", headers=HEADERS, timeout=5)

    yield
    asyncio.run(post())


# Sockets, streams and event loops


@way()
def a_socket_by_name() -> Iterator[None]:
    yield
    socket.create_connection((HOST, 443))


@way()
def a_socket_in_clear_at_an_address() -> Iterator[None]:
    plain = socket.create_connection((AT, 80))
    yield
    plain.sendall(RAW)
    plain.recv(100)


@way()
def a_socket_of_buffers_at_an_address() -> Iterator[None]:
    plain = socket.create_connection((AT, 80))
    yield
    plain.sendmsg([RAW])
    plain.recv(100)


@way()
def tls_without_a_name_at_an_address() -> Iterator[None]:
    tls = unverified().wrap_socket(socket.create_connection((AT, 443)))
    yield
    tls.sendall(RAW)
    tls.recv(100)


def _streams(loop_name: str, *, tls: bool, name: str | None = None) -> Iterator[None]:
    loop = loop_of(loop_name)

    async def opened() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if tls:
            return await asyncio.open_connection(AT, 443, ssl=unverified(), server_hostname=name or "x")
        return await asyncio.open_connection(AT, 80)

    async def ask() -> None:
        writer.write(RAW)
        await writer.drain()
        await reader.read(10)

    reader, writer = loop.run_until_complete(opened())
    yield
    loop.run_until_complete(ask())


@way()
def streams_in_clear() -> Iterator[None]:
    yield from _streams("asyncio", tls=False)


@way()
def streams_over_tls() -> Iterator[None]:
    yield from _streams("asyncio", tls=True, name=HOST)


@way("uvloop")
def uvloop_streams_in_clear() -> Iterator[None]:
    yield from _streams("uvloop", tls=False)


@way("uvloop")
def uvloop_streams_over_tls() -> Iterator[None]:
    yield from _streams("uvloop", tls=True, name=HOST)


@way("uvloop")
def uvloop_names() -> Iterator[None]:
    yield
    loop_of("uvloop").run_until_complete(asyncio.open_connection(HOST, 80))


@way("uvloop")
def uvloop_look_up() -> Iterator[None]:
    loop = loop_of("uvloop")
    yield
    loop.run_until_complete(loop.getaddrinfo(HOST, 443))


@way("uvloop")
def uvloop_under_aiohttp_kept_alive_in_clear() -> Iterator[None]:
    yield from _aiohttp_kept("uvloop", CLEAR)


@way("uvloop", outcome="not stopped")
def uvloop_transport_in_clear() -> Iterator[None]:
    loop = loop_of("uvloop")
    transport, _ = loop.run_until_complete(loop.create_connection(asyncio.Protocol, AT, 80))
    yield
    transport.write(RAW)
    loop.run_until_complete(asyncio.sleep(0.3))


@way()
def a_file_to_a_socket_at_an_address() -> Iterator[None]:
    plain = socket.create_connection((AT, 80))
    yield
    with tempfile.TemporaryFile() as file:
        file.write(RAW)
        file.flush()
        plain.sendfile(file)
    plain.recv(100)


@way(outcome="not stopped")
def a_write_to_the_descriptor_of_a_socket() -> Iterator[None]:
    plain = socket.create_connection((AT, 80))
    yield
    os.write(plain.fileno(), RAW)
    plain.recv(100)


@way(outcome="not stopped")
def a_socket_of_c_at_an_address() -> Iterator[None]:
    module: Any = import_module("_socket")
    yield
    plain = module.socket()
    plain.connect((AT, 80))
    plain.send(RAW)
    plain.recv(100)


@way(outcome="not stopped")
def a_method_that_was_bound_before() -> Iterator[None]:
    plain = socket.create_connection((AT, 80))
    send = plain.send
    yield
    send(RAW)
    plain.recv(100)


@way(outcome="not stopped")
def a_subinterpreter() -> Iterator[None]:
    names = ("_xxsubinterpreters", "_interpreters")
    module: Any = next(import_module(name) for name in names if importlib.util.find_spec(name))
    yield
    module.run_string(
        module.create(),
        f"import socket; s = socket.create_connection(({HOST!r}, 80)); s.sendall({RAW!r}); s.recv(100)",
    )


@way("trio")
def trio_at_an_address() -> Iterator[None]:
    import trio

    async def ask() -> None:
        plain = trio.socket.socket()
        await plain.connect((AT, 80))
        await plain.send(RAW)
        await plain.recv(100)

    yield
    trio.run(ask)


@way("gevent")
def gevent_kept_alive_in_clear() -> Iterator[None]:
    module: Any = import_module("gevent.socket")
    plain = module.create_connection((AT, 80))
    yield
    plain.sendall(RAW)
    plain.recv(100)


@way("gevent")
def gevent_kept_alive() -> Iterator[None]:
    module: Any = import_module("gevent.socket")
    context = import_module("gevent.ssl").SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    tls = context.wrap_socket(module.create_connection((AT, 443)), server_hostname="x")
    yield
    tls.sendall(RAW)
    tls.recv(100)


def _by_openssl() -> Any:
    module: Any = import_module("OpenSSL.SSL")
    connection = module.Connection(module.Context(module.TLS_CLIENT_METHOD), socket.create_connection((AT, 443)))
    connection.set_tlsext_host_name(HOST.encode())
    connection.set_connect_state()
    connection.do_handshake()
    return connection


@way("OpenSSL")
def openssl_kept_alive() -> Iterator[None]:
    connection = _by_openssl()
    yield
    connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
    connection.recv(100)


@way("OpenSSL")
def openssl_kept_alive_and_written_by_another_name() -> Iterator[None]:
    connection = _by_openssl()
    yield
    connection.write(RAW)
    connection.recv(100)


@way("grpc")
def grpc_names() -> Iterator[None]:
    grpc: Any = import_module("grpc")
    yield
    channel = grpc.secure_channel(f"dns:///{HOST}:443", grpc.ssl_channel_credentials())
    grpc.channel_ready_future(channel).result(5)


@way("primp", outcome="not stopped")
def primp_names() -> Iterator[None]:
    primp: Any = import_module("primp")
    yield
    primp.Client(verify=False, timeout=5).post(URL, json={})


@way("dns")
def dnspython_look_up() -> Iterator[None]:
    resolver: Any = import_module("dns.resolver")
    yield
    resolver.resolve(HOST, "A")


@way("trio")
def trio_in_clear() -> Iterator[None]:
    import trio

    async def ask() -> None:
        stream = await trio.open_tcp_stream(AT, 80)
        await stream.send_all(RAW)
        await stream.receive_some()

    yield
    trio.run(ask)


@way("gevent")
def gevent_names() -> Iterator[None]:
    import_module("gevent.monkey").patch_all()
    import requests

    yield
    requests.post(URL, verify=False, timeout=5)


@way("gevent")
def gevent_patched_at_an_address() -> Iterator[None]:
    import_module("gevent.monkey").patch_all()
    yield
    plain = socket.create_connection((AT, 80))
    plain.sendall(RAW)
    plain.recv(100)


@way("gevent")
def gevent_with_its_own_resolver() -> Iterator[None]:
    os.environ["GEVENT_RESOLVER"] = "ares"
    import_module("gevent.monkey").patch_all()
    yield
    socket.create_connection((HOST, 80))


@way("eventlet")
def eventlet_names() -> Iterator[None]:
    patch_by_eventlet()
    import requests

    yield
    requests.post(URL, verify=False, timeout=5)


@way("eventlet")
def eventlet_in_clear_at_an_address() -> Iterator[None]:
    patch_by_eventlet()
    yield
    plain = socket.create_connection((AT, 80))
    plain.sendall(RAW)
    plain.recv(100)


@way("eventlet")
def eventlet_kept_in_clear() -> Iterator[None]:
    patch_by_eventlet()
    plain: Any = socket.create_connection((AT, 80))
    yield
    plain.sendmsg([RAW])
    plain.recv(100)


@way("eventlet")
def eventlet_socket_without_patches_kept() -> Iterator[None]:
    os.environ["EVENTLET_NO_GREENDNS"] = "yes"
    plain = import_module("eventlet.green.socket").create_connection((AT, 80))
    yield
    plain.sendall(RAW)
    plain.recv(100)


@way("eventlet")
def eventlet_socket_without_patches_names() -> Iterator[None]:
    os.environ["EVENTLET_NO_GREENDNS"] = "yes"
    green = import_module("eventlet.green.socket")
    yield
    green.socket().connect((HOST, 80))


def patch_by_eventlet() -> None:
    os.environ["EVENTLET_NO_GREENDNS"] = "yes"  # its resolver imports trio, which cannot be imported after the patches
    import_module("eventlet").monkey_patch()


@way(outcome="not stopped")
def a_head_in_pieces_at_an_address() -> Iterator[None]:
    plain = socket.create_connection((AT, 80))
    yield
    for piece in (RAW[:30], RAW[30:]):
        plain.sendall(piece)
    plain.recv(100)


# Network stacks of C


@way("awscrt")
def awscrt_names() -> Iterator[None]:
    module: Any = import_module("awscrt.http")
    yield
    module.HttpClientConnection.new(HOST, 80).result(10)


@way("awscrt")
def awscrt_kept_alive_in_clear() -> Iterator[None]:
    module: Any = import_module("awscrt.http")
    connection = module.HttpClientConnection.new(HOST, 80).result(10)
    yield
    connection.request(module.HttpRequest("POST", PATH)).activate()


@way("awscrt")
def awscrt_at_an_address() -> Iterator[None]:
    module: Any = import_module("awscrt.http")
    connection = module.HttpClientConnection.new(AT, 80).result(10)
    yield
    headers = module.HttpHeaders([("Host", HOST)])
    connection.request(module.HttpRequest("POST", PATH, headers)).activate()


@way("awscrt")
def awscrt_aio_kept_alive_in_clear() -> Iterator[None]:
    """smithy-python sends its requests in this way."""
    module: Any = import_module("awscrt.aio.http")
    request = import_module("awscrt.http").HttpRequest("POST", PATH)
    loop = asyncio.new_event_loop()

    async def connected() -> Any:
        return await module.AIOHttpClientConnection.new(HOST, 80)

    async def ask() -> None:
        await connection.request(request).get_response_status_code()

    connection = loop.run_until_complete(connected())
    yield
    loop.run_until_complete(ask())


@way("curl_cffi")
def curl_cffi_names() -> Iterator[None]:
    requests: Any = import_module("curl_cffi.requests")
    yield
    requests.post(URL, verify=False, timeout=5)


@way("curl_cffi")
def curl_cffi_kept_alive() -> Iterator[None]:
    requests: Any = import_module("curl_cffi.requests")
    session = requests.Session(verify=False, timeout=5)
    session.post(URL)
    yield
    session.post(URL)


@way("curl_cffi")
def curl_cffi_at_an_address() -> Iterator[None]:
    requests: Any = import_module("curl_cffi.requests")
    yield
    requests.post(f"http://{AT}{PATH}", headers=HEADERS, timeout=5)


def _curl(handle: Any, url: str) -> None:
    pycurl: Any = import_module("pycurl")
    handle.setopt(pycurl.URL, url)
    handle.setopt(pycurl.SSL_VERIFYPEER, 0)
    handle.setopt(pycurl.SSL_VERIFYHOST, 0)
    handle.setopt(pycurl.POSTFIELDS, "{}")
    handle.setopt(pycurl.TIMEOUT, 5)
    handle.perform()


@way("pycurl")
def pycurl_names() -> Iterator[None]:
    pycurl: Any = import_module("pycurl")
    yield
    _curl(pycurl.Curl(), URL)


@way("pycurl", outcome="not stopped")
def pycurl_with_a_handle_from_before() -> Iterator[None]:
    handle = import_module("pycurl").Curl()
    yield
    _curl(handle, URL)


# Other programs

CURL: Final = ["curl", "-sk", "-m", "5", "-d", "{}", URL]
HTTPX: Final = f"import httpx; httpx.post({URL!r}, verify=False)"


def boto(service: str = "bedrock-runtime", *, config: str = "", **options: Any) -> str:
    call = {
        "bedrock-runtime": "converse(modelId='m', messages=[{'role': 'user', 'content': [{'text': 'x'}]}])",
        "bedrock-agentcore-control": "list_agent_runtimes()",
    }[service]
    return (
        "import botocore.session, botocore.config\n"
        f"c = botocore.session.Session().create_client({service!r}, region_name='us-east-1', aws_access_key_id='a',"
        f" aws_secret_access_key='b', verify=False, config=botocore.config.Config({config}), **{options!r})\n"
        f"c.{call}"
    )


def python(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, timeout=60)


@way("curl")
def subprocess_curl() -> Iterator[None]:
    yield
    subprocess.run(CURL, check=False)


@way("httpx")
def subprocess_httpx() -> Iterator[None]:
    yield
    python(HTTPX)


@way("botocore")
def subprocess_boto() -> Iterator[None]:
    yield
    python(boto())


@way("botocore")
def subprocess_boto_with_an_endpoint() -> Iterator[None]:
    yield
    python(boto(endpoint_url=f"https://{HOST}"))


@way("botocore")
def subprocess_boto_that_ignores_endpoints() -> Iterator[None]:
    yield
    python(boto(config="ignore_configured_endpoint_urls=True"))


@way("botocore")
def subprocess_boto_of_agentcore() -> Iterator[None]:
    yield
    python(boto("bedrock-agentcore-control"))


@way("curl", outcome="not stopped")
def subprocess_curl_without_an_environment() -> Iterator[None]:
    yield
    subprocess.run(["env", "-i", *CURL], check=False)


@way("curl", outcome="not stopped")
def subprocess_curl_past_proxies() -> Iterator[None]:
    yield
    subprocess.run([*CURL, "--noproxy", "*"], check=False)


@way("curl")
def subprocess_curl_where_no_proxy_is_for_aws() -> Iterator[None]:
    os.environ["NO_PROXY"] = "amazonaws.com"
    yield
    subprocess.run(CURL, check=False)


@way("curl")
def os_system() -> Iterator[None]:
    yield
    os.system(" ".join(CURL))


@way("curl")
def os_popen() -> Iterator[None]:
    yield
    popen: Any = vars(os)["popen"]
    popen(" ".join(CURL)).read()


@way("curl")
def os_posix_spawn() -> Iterator[None]:
    yield
    os.waitpid(os.posix_spawnp("curl", CURL, os.environ), 0)


@way("curl")
def os_spawn() -> Iterator[None]:
    yield
    spawn: Any = vars(os)["spawnvp"]
    spawn(os.P_WAIT, "curl", CURL)


@way("curl")
def os_fork_and_exec() -> Iterator[None]:
    yield
    child = os.fork()
    if child == 0:
        os.execlp("curl", *CURL)
    os.waitpid(child, 0)


@way("uvloop")
def uvloop_program() -> Iterator[None]:
    loop = loop_of("uvloop")

    async def run() -> None:
        process = await asyncio.create_subprocess_exec(*CURL)
        await process.wait()

    yield
    loop.run_until_complete(run())


@way("curl")
def os_system_bound_before() -> Iterator[None]:
    system = os.system
    yield
    system(" ".join(CURL))


@way("curl")
def os_fork_and_execve_bound_before() -> Iterator[None]:
    fork, execve, curl = os.fork, os.execve, str(shutil.which("curl"))
    yield
    child = fork()
    if child == 0:
        execve(curl, CURL, dict(os.environ))
    os.waitpid(child, 0)


@way("httpx")
def subprocess_httpx_without_its_environment() -> Iterator[None]:
    yield
    python(f"import httpx; httpx.post({URL!r}, verify=False, trust_env=False)")


@way("aiohttp")
def subprocess_aiohttp() -> Iterator[None]:
    yield
    python(
        "import aiohttp, asyncio\n"
        "async def ask():\n"
        f"    async with aiohttp.ClientSession() as session: await session.post({URL!r}, ssl=False)\n"
        "asyncio.run(ask())"
    )


@way("botocore")
def subprocess_boto_without_a_proxy() -> Iterator[None]:
    yield
    python(boto(config="proxies={}, ignore_configured_endpoint_urls=True"))


@way(outcome="not stopped")
def subprocess_python_in_clear_at_an_address() -> Iterator[None]:
    yield
    python(f"import socket; s = socket.create_connection(({AT!r}, 80)); s.sendall({RAW!r}); s.recv(100)")


@way(outcome="not stopped")
def subprocess_python_that_is_isolated() -> Iterator[None]:
    yield
    program = f"import http.client; http.client.HTTPConnection({HOST!r}).request('POST', {PATH!r}, b'{{}}')"
    subprocess.run([sys.executable, "-I", "-c", program], check=False, capture_output=True, timeout=60)


@way("node")
def node_https() -> Iterator[None]:
    yield
    environment = {**os.environ, "NODE_TLS_REJECT_UNAUTHORIZED": "0"}
    program = f"require('https').request({URL!r}, {{method: 'POST'}}).end()"
    subprocess.run(["node", "-e", program], check=False, env=environment, timeout=30)


@way("node")
def node_fetch() -> Iterator[None]:
    yield
    environment = {**os.environ, "NODE_TLS_REJECT_UNAUTHORIZED": "0"}
    subprocess.run(["node", "-e", f"fetch({URL!r}, {{method: 'POST'}})"], check=False, env=environment, timeout=30)


def ask_in_child() -> str:
    try:
        import httpx

        httpx.post(URL, verify=False)
    except BaseException as error:  # noqa: BLE001 - whatever the client makes of it
        return type(error).__name__
    return "answered"


def _new_pool(method: str) -> Iterator[None]:
    yield
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        pool.submit(ask_in_child).result(60)  # nobody looks at what it says


def _warm_pool(method: str) -> Iterator[None]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        pool.submit(os.getpid).result(60)
        yield
        pool.submit(ask_in_child).result(60)  # nobody looks at what it says


@way("httpx")
def forked_pool() -> Iterator[None]:
    yield from _new_pool("fork")


@way("httpx")
def spawned_pool() -> Iterator[None]:
    yield from _new_pool("spawn")


@way("httpx")
def pool_of_a_forkserver() -> Iterator[None]:
    yield from _new_pool("forkserver")


@way("httpx")
def warm_forked_pool() -> Iterator[None]:
    yield from _warm_pool("fork")


@way("httpx")
def warm_spawned_pool() -> Iterator[None]:
    yield from _warm_pool("spawn")


@way("httpx")
def warm_pool_of_a_forkserver() -> Iterator[None]:
    yield from _warm_pool("forkserver")


def main() -> None:
    from converse_harness import BlockedConnection
    from converse_harness.intercept.guard import workers
    from converse_harness.intercept.in_process import InProcessFake
    from converse_harness.intercept.registry import OPEN_FAKES

    class BotoOnlyFake(InProcessFake):
        """Answers no client of an HTTP library, so that the guard has to stop it."""

        def _transport(self) -> AbstractContextManager[object]:
            return OPEN_FAKES.opened(self.core)

    name, log, answers = sys.argv[1:]
    workers.arm()  # as the plugin does
    steps = WAYS[name][0]()
    next(steps)
    fake = InProcessFake(unexpected="allow", rules="off") if answers == "answers" else BotoOnlyFake()
    fake.open()
    with open(log, "a") as file:
        file.write("open\n")
    failed = "passed"
    try:
        next(steps, None)
    except BlockedConnection:
        failed = "failed"
    except BaseException as error:  # noqa: BLE001 - whatever the client makes of it
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    try:
        fake.check()
    except BlockedConnection:
        failed = "failed"
    print(failed, flush=True)
    fake.close()
    os._exit(0)


if __name__ == "__main__":
    main()
