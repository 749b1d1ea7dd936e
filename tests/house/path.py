"""The way of one call: how many functions of the product a warm ConverseStream of boto calls, through which modules.

`python -m tests.house.path` prints three numbers: calls of functions, comprehensions included; modules; and moves back,
from one module to another that was visited before. With `-v` it prints each call too.
"""

import sys
from types import FrameType
from typing import Any

from converse_harness import fake_converse, reply
from converse_harness.intercept.clients import create_client

PRODUCT = "converse_harness"
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
WARM = 5
"""Calls before the one that counts."""


def way() -> list[tuple[str, str]]:
    """Module and name of each function that is called, from the client's method to the end of the stream."""
    called: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        module = str(frame.f_globals.get("__name__"))
        if event == "call" and module.partition(".")[0] == PRODUCT:
            called.append((module, frame.f_code.co_qualname))

    with fake_converse() as fake:
        fake.always(reply.text("It is sunny in Zürich, and 18 degrees. " * 3))
        client = create_client()
        for number in range(WARM):
            ask(client, number)
        sys.setprofile(note)
        try:
            ask(client, WARM)
        finally:
            sys.setprofile(None)
    return called


def ask(client: Any, number: int) -> None:
    """One call with a prompt of its own, read to its end."""
    prompt = {"role": "user", "content": [{"text": f"What is it like on day {number}?"}]}
    for _ in client.converse_stream(modelId=MODEL, messages=[prompt])["stream"]:
        pass


def moves_back(modules: list[str]) -> int:
    """How often the way leads back into a module that it had left."""
    seen: set[str] = set()
    count = 0
    for before, module in zip(["", *modules], modules, strict=False):
        count += module != before and module in seen
        seen.add(module)
    return count


def main(*, verbose: bool) -> None:
    """Print the measures."""
    called = way()
    modules = [module for module, _ in called]
    for module, name in called if verbose else ():
        print(f"{module.removeprefix(PRODUCT).lstrip('.'):30}{name}")
    print(f"calls       {len(called):4}")
    print(f"modules     {len(set(modules)):4}")
    print(f"moves back  {moves_back(modules):4}")


if __name__ == "__main__":
    main(verbose="-v" in sys.argv[1:])
