"""Servers that send the same events: ours, and what people take in its place.

Each is a context manager that yields a URL; `python -m benchmarks.servers.others NAME EVENTS PAUSE` runs one in a
process of its own, prints the URL, answers each line of its standard input with the CPU seconds used so far, and ends
with it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from benchmarks.floor import answered, story
from benchmarks.measure import ROOT
from converse_harness import ConverseServer

NODE: Final = ROOT / "benchmarks" / "node"
"""Where `npm ci` puts aimock."""

AROUND: Final = {"aimock": 5}
"""Events of a stream beside the text deltas, where they are not the usual four: aimock opens a block of text."""


@contextmanager
def ours(events: int, pause: float = 0.0) -> Generator[str, None, None]:
    """The server transport, with one fake on it."""
    with ConverseServer() as server, server.script() as fake:
        fake.always(story(events).paced(first=pause, each=pause))
        yield fake.url


@contextmanager
def stdlib(events: int, pause: float = 0.0) -> Generator[str, None, None]:
    """http.server with a thread for each connection; what has no pauses goes out in one write."""
    headers, frames = answered(story(events), "converse-stream")
    parts = [b"%x\r\n%b\r\n" % (len(frame), frame) for frame in frames]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            for part in parts:
                if pause:
                    self.wfile.flush()
                    time.sleep(pause)
                self.wfile.write(part)
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 1024

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


IN_PYTHON: Final[Mapping[str, Callable[[int, float], AbstractContextManager[str]]]] = {
    "ours": ours,
    "http.server": stdlib,
}
"""What can be started in a test's own process."""


class Child:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = self._line()

    def cpu(self) -> float:
        """CPU seconds of the whole process so far, as it counts them."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"{self._process.args!r} did not start, or ended")
        return line


@contextmanager
def in_process_of_its_own(name: str, events: int, pause: float = 0.0) -> Generator[Child, None, None]:
    """Any of them, aimock as well, as a child."""
    deltas = events - AROUND.get(name, 4)
    command = (
        [str(shutil.which("node")), str(NODE / "aimock.mjs"), str(deltas), str(1000 * pause)]
        if name == "aimock"
        else [sys.executable, "-m", "benchmarks.servers.others", name, str(events), str(pause)]
    )
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        try:
            yield Child(child)
        finally:
            child.stdin.close()
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()


def missing_aimock() -> str:
    """Why aimock cannot be started; empty if it can."""
    if shutil.which("node") is None:
        return "there is no `node` on the PATH"
    if not (NODE / "node_modules").is_dir():
        return f"its package is not installed: `npm ci` in {NODE.name}/ of benchmarks"
    return ""


def main() -> None:
    """Run one server until standard input ends."""
    name, events, pause = sys.argv[1:]
    with IN_PYTHON[name](int(events), float(pause)) as url:
        print(url, flush=True)
        for _ in sys.stdin:
            print(time.process_time(), flush=True)


if __name__ == "__main__":
    main()
