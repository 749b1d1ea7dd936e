"""A proxy on localhost for programs that are started under a fake: it refuses requests to Bedrock, forwards all others.

`children` starts the proxy as a separate process, since a thread in the test process would make forks unsafe. The proxy
reads its settings from its standard input, where no other user sees them, and ends when its standard input is closed.
`child_exchange` handles the requests. It is imported only when the port is known, because its imports take longer than
all the rest, and the program that is to be started waits for the port.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import Final

_WAITING: Final = 1024
"""How many connections may wait: each exchange has a connection of its own, and a program may open many at once."""
_DESCRIPTORS: Final = 65_536


def main() -> None:
    """Run the proxy and print its port. The first line of the standard input has the settings.

    The proxy detaches from its parent process, because the parent may wait until all its children end.
    """
    listening = socket.create_server(("127.0.0.1", 0), backlog=_WAITING)
    if hasattr(os, "fork") and os.fork() != 0:
        os._exit(0)
    # Ctrl-C must not reach the proxy, which ends when its standard input is closed.
    if hasattr(os, "setsid"):
        os.setsid()
    else:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(1, f"{listening.getsockname()[1]}\n".encode())
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    _allow_descriptors()

    from converse_harness.intercept.guard.child_exchange import serve, settings_from

    settings = settings_from(sys.stdin.buffer.readline())
    threading.Thread(target=serve, args=(listening, settings), daemon=True).start()
    sys.stdin.buffer.read()
    os._exit(0)


def _allow_descriptors() -> None:
    """Allow this process as many descriptors as the system does: each exchange needs two."""
    if sys.platform != "win32":  # which has no limit of this kind
        import resource

        with suppress(OSError, ValueError):  # macOS may refuse the number
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
            if soft != resource.RLIM_INFINITY and soft < wanted:
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
