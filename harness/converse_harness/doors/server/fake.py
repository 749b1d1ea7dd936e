"""The fake behind the server door."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Self, Unpack

from converse_harness.damage import Door
from converse_harness.doors.contract import Exchange
from converse_harness.doors.environ import environ
from converse_harness.doors.fake import Fake, Settings
from converse_harness.script import Replies, Responder
from converse_harness.wire.http import Request

Mount = Callable[["ServerFake"], AbstractContextManager[object]]
"""Lets a server answer with a fake for as long as it is open."""


class ServerFake(Fake):
    """A fake Bedrock with a URL of its own on a ConverseServer; any client that is told the URL is answered.

    It is open from the start; leaving its `with` block, or `close`, ends it and what it was still saying.
    """

    door = Door.SERVER

    def __init__(self, url: str, mount: Mount, *replies: Responder | Replies, **settings: Unpack[Settings]) -> None:
        super().__init__(*replies, **settings)
        self._url = url
        self.where = f" at {url}"
        self._stack.enter_context(mount(self))  # last: from here on other threads see it

    @property
    def url(self) -> str:
        """The endpoint URL: `boto3.client("bedrock-runtime", endpoint_url=fake.url)`."""
        return self._url

    @property
    def environ(self) -> dict[str, str]:
        """The variables by which clients find it, of this process or another.

        Those that AWS's SDKs, the AI SDK and litellm read an endpoint from, dummy keys, a region, no proxy:
        `subprocess.run(command, env={**os.environ, **fake.environ})`.
        """
        return environ(self._url, os.environ)

    def answer(self, request: Request) -> Exchange:
        """What the server sends for a request; in a thread where that may take its time."""
        return self.exchange(request)

    def open(self) -> Self:
        """It is open already."""
        return self
