"""The real service behind a recording proxy: its endpoint, the signing of requests, and its answers."""

from __future__ import annotations

import http.client
import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import Any, Final, cast
from urllib.parse import urlsplit

from converse_harness import bedrock
from converse_harness.bedrock import SERVICE
from converse_harness.endpoint.operations import Route, any_route
from converse_harness.errors import TransportError
from converse_harness.intercept.clients import ACCESS_KEY, is_loopback
from converse_harness.secrets.mask import mask
from converse_harness.secrets.process import remember
from converse_harness.stream.http import MEMBER_HEADERS, Request

_BEARER: Final = "AWS_BEARER_TOKEN_BEDROCK"

_PASSED_ON: Final = re.compile(f"accept|content-type|x-amz-target|(?:{'|'.join(MEMBER_HEADERS)}).*", re.IGNORECASE)
"""The headers that are forwarded, beside those with members of the operation's input (`_headers_of`). The proxy sends
its own `User-Agent`, `Host` and signature.

The client's signature is about another host, so the proxy signs with the credentials of its own environment.
"""

_TIMEOUTS: Final = (60.0, 3600.0)
"""Timeouts in seconds: for the connection, and for the next byte.

botocore's default for the next byte, a minute, is too short for a model that thinks. When the client gives up earlier
and disconnects, the proxy disconnects too.
"""

_NO_KEYS: Final = (
    "there are no credentials to sign with: {what}. The proxy signs what it passes on with those of its own "
    "environment, as boto3 finds them: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), or "
    "AWS_PROFILE, or " + _BEARER
)
_NO_CREDENTIALS: Final = "botocore found none in the environment, in a profile, or by the role of this machine"
_DUMMIES: Final = "the environment has the dummy keys of a fake, which somebody exported in this shell"
_NO_REGION: Final = (
    "there is no region to {purpose}: none was given, and botocore found none in AWS_DEFAULT_REGION or a profile. Give "
    "one ({how}), or set AWS_REGION or AWS_DEFAULT_REGION"
)
_HOW: Final = "--region, or region=..."
_NO_URL: Final = (
    "calls cannot be passed on to {url!r}: give an http:// or https:// URL with a host, without user or query"
)
_IN_CLEAR: Final = (
    "the bearer token in " + _BEARER + " would travel unencrypted to {url}. Give an https:// URL, or unset it and sign "
    "with keys"
)
LOST: Final = "the credentials of this environment could not be renewed: {error}"


class UpstreamAnswer:
    """An answer of the service. Its head has been read; iterating over `pieces()` reads the body."""

    def __init__(self, raw: Any, session: Any) -> None:
        self._raw = raw
        self._session = session
        self._wire: socket.socket | None = None
        """A duplicate of the connection's socket, which another thread may shut down; None if there is no body."""
        with suppress(OSError, ValueError):  # without a body, the connection is closed already
            self._wire = socket.fromfd(raw.fileno(), socket.AF_INET, socket.SOCK_STREAM)
        self.status: int = raw.status
        self.headers: tuple[tuple[str, str], ...] = tuple(raw.headers.items())
        self.chunked: bool = bool(raw.chunked)
        """Whether the body is chunked: `pieces` then yields one piece per chunk, otherwise one piece in all."""

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the body as they arrive, without decoding them.

        Raises the exception of urllib3 if the body is incomplete.
        """
        try:
            if self.chunked:
                yield from self._raw.read_chunked(decode_content=False)
            else:
                yield self._raw.read(decode_content=False)
        except Exception as error:  # an error of urllib3: its `__cause__` contains the bytes of an incomplete piece
            if isinstance(error.__cause__, http.client.IncompleteRead) and error.__cause__.partial:
                yield error.__cause__.partial
            raise

    def hang_up(self) -> None:
        """Shut down the connection, from any thread. A thread that reads the body then reaches the end of the body.

        Closing the connection would not wake up such a thread.
        """
        if self._wire is not None:
            with suppress(OSError):  # the other end has already closed the connection
                self._wire.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection. Only the thread that reads the body may call this."""
        self._raw.close()
        self._session.close()
        if self._wire is not None:
            self._wire.close()


class Upstream:
    """The service to which calls are forwarded. Any thread may use it.

    Each call opens a new connection. So the connection is never stale, and a client that disconnects breaks no other
    call.
    """

    def __init__(self, url: str | None, region: str | None) -> None:
        """Find the region, the credentials and the endpoint in the environment; `url` replaces the endpoint.

        Raises TransportError without credentials or region, and for an invalid or insecure `url`.
        """
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.session import Session

        if url is not None:
            _check_url(url)
        self._url = url
        self._token = os.environ.get(_BEARER, "").strip()
        self._session: Any = Session()
        try:
            self.region: str = region or self._session.get_config_variable("region") or os.environ.get("AWS_REGION", "")
            if not self.region and (url is None or not self._token):
                purpose = "find Bedrock in" if url is None else "sign for"
                raise TransportError(_NO_REGION.format(purpose=purpose, how=_HOW))
            if not self._token:
                credentials = self._session.get_credentials()
                if credentials is None:
                    raise TransportError(_NO_KEYS.format(what=_NO_CREDENTIALS))
                if credentials.get_frozen_credentials().access_key == ACCESS_KEY:
                    raise TransportError(_NO_KEYS.format(what=_DUMMIES))
            elif url is not None and not (url.startswith("https:") or is_loopback(url)):
                raise TransportError(_IN_CLEAR.format(url=url))
            self._verify = (
                self._session.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE") or True
            )
            self._endpoint = cache(self._resolve)
            self.url: str = self._endpoint(SERVICE)
            """The URL of Bedrock Runtime, or the `url` that replaces it."""
        except (BotoCoreError, ClientError) as error:
            raise TransportError(_NO_KEYS.format(what=mask(str(error)).rstrip("."))) from error
        self._agent = {"User-Agent": f"converse-harness/{version('converse-harness')}"}

    def ask(self, request: Request) -> UpstreamAnswer:
        """Sign a request again, send it, and return the answer.

        Raises BotoCoreError if there is no answer, and TransportError if the credentials cannot be renewed.
        """
        from botocore import httpsession, utils

        signed = self._signed(request)
        proxies = cast("Any", utils).get_environ_proxies(signed.url)
        session = cast("Any", httpsession).URLLib3Session(verify=self._verify, proxies=proxies, timeout=_TIMEOUTS)
        try:
            return UpstreamAnswer(session.send(signed).raw, session)
        except BaseException:
            session.close()
            raise

    def _signed(self, request: Request) -> Any:
        """Return a request to the service, signed and in botocore's form.

        Raises TransportError if the credentials cannot be renewed.
        """
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError, ClientError

        asked = any_route(request)
        service = SERVICE if asked is None else asked.service
        base, members = self._endpoint(service), frozenset[str]() if asked is None else _headers_of(asked)
        made: Any = AWSRequest(
            method=request.method,
            url=base.rstrip("/") + _normal(request.target),
            headers={
                name: value for name, value in request.headers if _PASSED_ON.fullmatch(name) or name.lower() in members
            }
            | self._agent,
            data=request.body,
            stream_output=True,
        )
        if self._token:
            made.headers["Authorization"] = f"Bearer {self._token}"
            return made.prepare()
        try:
            keys = self._session.get_credentials().get_frozen_credentials()
        except (BotoCoreError, ClientError) as error:
            raise TransportError(LOST.format(error=mask(str(error)))) from error
        remember(keys.access_key, keys.secret_key, keys.token)
        signer: Any = SigV4Auth(keys, bedrock.service(service).signing_name, self.region)
        signer.add_auth(made)
        return made.prepare()

    def _resolve(self, service: str) -> str:
        """Return the URL of the endpoint of `service`, or the URL that replaces it.

        The endpoint variables of the environment are ignored, because they may contain the URL of this proxy.
        """
        if self._url is not None:
            return self._url
        from botocore.config import Config

        config = Config(ignore_configured_endpoint_urls=True)
        client = self._session.create_client(service, region_name=self.region, config=config)
        url: str = client.meta.endpoint_url
        client.close()
        return url


def _headers_of(asked: Route) -> frozenset[str]:
    """Return the names, in lower case, of the headers with members of the operation's input."""
    if asked.operation not in bedrock.operations(asked.service):
        return frozenset()
    members = bedrock.operation(asked.operation, asked.service).input_shape.members.values()
    found = [each.serialization for each in members if each.serialization.get("location") == "header"]
    return frozenset(each["name"].lower() for each in found)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError if the port is not a number
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise TransportError(_NO_URL.format(url=mask(re.sub("//.*@", "//***@", url))))


def _normal(target: str) -> str:
    """Return the target with percent escapes in upper case, as urllib3 sends it: the signature covers this form."""
    return re.sub("%[0-9a-f]{2}", lambda found: found[0].upper(), target, flags=re.IGNORECASE)
