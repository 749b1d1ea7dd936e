"""A server in a process of its own, in the middle of a stream, to be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SERVER: Final = """
import sys
from converse_harness import ConverseServer
from converse_harness import reply

with ConverseServer() as server, server.script(reply.text("la " * 1000).paced(each=0.05)) as fake:
    print(fake.url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def mortal_server(folder: Path) -> Generator[tuple[str, subprocess.Popen[str]]]:
    """The URL of a fake that answers with a long stream, and its process; all that it may write to is `folder`."""
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"), str(folder))
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        cwd=folder,
        env={**os.environ, **places},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()
