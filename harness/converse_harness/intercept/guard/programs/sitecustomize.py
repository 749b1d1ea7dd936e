"""Keep a Python program that the tests have started away from Bedrock, whether or not its clients use a proxy.

`children` puts the folder of this file first in PYTHONPATH, so Python runs this file when the program starts. Then it
runs the `sitecustomize` that would have been found without it. The program may be of another environment, and even of
another Python: the file needs Python 3.8, and imports no module that Python has not loaded already, to save time.
"""

import os
import sys

TYPE_CHECKING = False  # to import `typing` takes time
if TYPE_CHECKING:
    from typing import Any

_GUARD = "CONVERSE_HARNESS_GUARD"
"""The variable that has the port of the proxy, which knows the hosts of Bedrock and reports refusals to the tests."""
_EVENTS = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.connect": 1, "socket.sendto": 1}
_MESSAGE = (
    "converse-harness refused {host}: this process was started while a fake was open. Use the fixture `converse_server`"
    " and put `fake.environ` into its environment.   More: converse-harness docs guard children"
)


def _watch(event: str, args: "tuple[Any, ...]") -> None:
    if event not in _EVENTS:
        return
    asked = args[_EVENTS[event]]
    host = asked[0] if asked.__class__ is tuple and asked else asked
    name = host.decode("utf-8", "replace") if isinstance(host, (bytes, bytearray)) else str(host)
    if ("bedrock" in name.lower() or not name.isascii()) and _is_refused(name):
        raise RuntimeError(_MESSAGE.format(host=name))


def _is_refused(host: str) -> bool:
    import _socket  # the module `socket` may have been replaced, for example by gevent

    try:
        asking = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        try:
            asking.connect(("127.0.0.1", int(os.environ[_GUARD])))
            asking.send(b"CHECK / HTTP/1.1\r\nHost: " + host.encode() + b"\r\n\r\n")
            return b" 403 " in asking.recv(100)
        finally:
            asking.close()
    except (KeyError, ValueError, OSError):  # the tests have ended, and their proxy with them
        return False


def _run_the_next() -> None:
    """Run the `sitecustomize` that Python would have found without this one, if there is one."""
    here = os.path.dirname(__file__)
    sys.path[:] = [folder for folder in sys.path if folder != here]
    for finder in sys.meta_path:
        spec = finder.find_spec("sitecustomize", None)
        if spec is not None and spec.loader is not None:
            # importlib.util has this function too, but to import it takes longer than all the rest of this file.
            module = sys.modules["_frozen_importlib"].module_from_spec(spec)
            sys.modules["sitecustomize"] = module
            spec.loader.exec_module(module)
            return


if _GUARD in os.environ and hasattr(sys, "addaudithook"):
    sys.addaudithook(_watch)
_run_the_next()
