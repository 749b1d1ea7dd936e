"""For runs of pytest inside a test: the options that load plugins, and the imports that such runs share."""

import importlib
import pkgutil
from typing import Final

import botocore.session

from converse_harness import ConverseServer, HttpxFake, plugin, recordings, reply
from converse_harness.intercept.in_process import InProcessFake

OURS: Final = ("-p", "converse_harness.plugin")
ANYIO: Final = ("-p", "anyio")
# Without this setting, pytest-asyncio warns.
ASYNCIO: Final = ("-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=function")
HYPOTHESIS: Final = ("-p", "_hypothesis_pytestplugin")
RESPX: Final = ("-p", "respx.plugin")
SOCKET: Final = ("-p", "pytest_socket")
XDIST: Final = ("-p", "xdist.plugin")


def load() -> None:
    """Import the modules that an inner run may need, before the first inner run.

    pytester removes the modules that an inner run imported first, so the next run would load second copies. It would
    also compile our modules again, with rewritten asserts, which takes longer than most runs.
    """
    for package in (plugin, recordings):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    with ConverseServer() as server, HttpxFake(), InProcessFake(reply.text("")), server.script():
        client = botocore.session.get_session().create_client("bedrock-runtime")
        client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
