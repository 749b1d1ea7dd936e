"""A network of its own with a trap: every name leads to it, and it writes down who was looked up and asked.

Run as a program inside a namespace (see `test_trap`): it listens, runs a command, and prints as JSON what was caught.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

RESOLVER: Final = "10.99.0.1"
SERVICE: Final = "10.99.0.2"
"""The address of every name: TLS on 443, plain HTTP, also as a proxy, on 80."""


class Trap:
    """Whoever is asked appends a line to the log: `dns NAME`, `tls NAME`, `http TARGET HOST`."""

    def __init__(self, log: Path, certificate: tuple[str, str]) -> None:
        self.log = log
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*certificate)
        self.tls.sni_callback = lambda _socket, name, _context: self.caught("tls", name or "-")

    def caught(self, *words: str) -> None:
        """One line, whole."""
        file = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{' '.join(words)}\n".encode())
        os.close(file)

    def listen(self) -> None:
        """Take look-ups and connections in threads."""
        names = socket.socket(type=socket.SOCK_DGRAM)
        names.bind((RESOLVER, 53))
        self._run(self._resolve, names)
        for port, wrap in ((443, True), (80, False)):
            self._run(self._accept, socket.create_server((SERVICE, port), backlog=64), wrap)

    @staticmethod
    def _run(target: Callable[..., None], *args: Any) -> None:
        threading.Thread(target=target, args=args, daemon=True).start()

    def _resolve(self, names: socket.socket) -> None:
        while True:
            asked, sender = names.recvfrom(4096)
            labels, at = [], 12
            while asked[at]:
                labels.append(asked[at + 1 : at + 1 + asked[at]].decode("latin-1"))
                at += 1 + asked[at]
            self.caught("dns", ".".join(labels))
            is_a = asked[at + 1 : at + 3] == b"\0\1"
            record = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(SERVICE) if is_a else b""
            counts = b"\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0"
            names.sendto(asked[:2] + b"\x81\x80" + counts + asked[12 : at + 5] + record, sender)

    def _accept(self, server: socket.socket, wrap: bool) -> None:
        while True:
            self._run(self._serve, server.accept()[0], wrap)

    def _serve(self, connection: socket.socket, wrap: bool) -> None:
        with suppress(OSError), connection:  # a client that trusts nobody leaves early; its name is noted
            talk: socket.socket = self.tls.wrap_socket(connection, server_side=True) if wrap else connection
            with talk, talk.makefile("rb") as reading:
                while (first := reading.readline()).strip():
                    host, length = "-", 0
                    while (line := reading.readline()).strip():
                        name, _, value = line.decode("latin-1").partition(":")
                        host = value.strip() if name.lower() == "host" else host
                        length = int(value) if name.lower() == "content-length" else length
                    reading.read(length)
                    self.caught("http", first.split()[1].decode("latin-1"), host)
                    talk.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")


def main() -> None:
    """Run as `trap.py LOG CERTIFICATE KEY COMMAND...`."""
    log, certificate, key, *command = sys.argv[1:]
    resolv = Path(log).with_suffix(".resolv")
    resolv.write_text(f"nameserver {RESOLVER}\noptions timeout:1 attempts:1\n")
    for words in (
        ["ip", "link", "set", "lo", "up"],
        ["ip", "address", "add", f"{RESOLVER}/32", "dev", "lo"],
        ["ip", "address", "add", f"{SERVICE}/32", "dev", "lo"],
        ["mount", "--bind", str(resolv), "/etc/resolv.conf"],
    ):
        subprocess.run(words, check=True)
    Trap(Path(log), (certificate, key)).listen()
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    json.dump({"out": done.stdout, "err": done.stderr, "code": done.returncode}, sys.stdout)


if __name__ == "__main__":
    main()
