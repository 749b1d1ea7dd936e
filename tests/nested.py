"""Runs of pytest inside a test: the plugins that they name, since they load none by themselves, and what they need."""

import importlib
import pkgutil
from typing import Final

import botocore.session

from converse_harness import ConverseServer, HttpxFake, plugin, recordings, reply
from converse_harness.intercept.in_process import BotoFake

OURS: Final = ("-p", "converse_harness.plugin")
ANYIO: Final = ("-p", "anyio")
# It warns without this setting.
ASYNCIO: Final = ("-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=function")
HYPOTHESIS: Final = ("-p", "_hypothesis_pytestplugin")
RESPX: Final = ("-p", "respx.plugin")
SOCKET: Final = ("-p", "pytest_socket")
XDIST: Final = ("-p", "xdist.plugin")


def load() -> None:
    """Import what a run may need: pytester drops what a run imported first, and the next would see two copies.

    And it would compile our modules anew, with rewritten asserts, which takes longer than most runs.
    """
    for package in (plugin, recordings):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    with ConverseServer() as server, HttpxFake(), BotoFake(reply.text("")), server.script():
        client = botocore.session.get_session().create_client("bedrock-runtime")
        client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
