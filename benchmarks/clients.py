"""What a test pays before it says anything: a client, a fake, and one plain call."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.budgets import Row
from benchmarks.floor import ASKED, floor_client
from benchmarks.measure import Rounds, per_call
from converse_harness import fake_converse, reply
from converse_harness.intercept.clients import create_client

ROUNDS = 40


def rows() -> list[Row]:
    """A client, a fake and a call."""
    return [*_clients(), *_calls()]


def _clients() -> list[Row]:
    session: Any = import_module("botocore.session").get_session()  # botocore has no types of its own

    def own() -> float:
        keys = {"aws_access_key_id": "fake", "aws_secret_access_key": "fake"}
        return per_call(lambda: session.create_client("bedrock-runtime", region_name="us-east-1", **keys), 3)

    def ours() -> float:
        with fake_converse():
            return per_call(create_client, 3)

    rounds = Rounds(ROUNDS, ours=ours, own=own)
    return [Row("client", 1000 * rounds.median("ours")), Row("client own", 1000 * rounds.median("own"))]


def _calls() -> list[Row]:
    hello = reply.text("Hello!")
    client, bare = create_client(), floor_client(hello, "converse")

    def ours() -> float:
        with fake_converse() as fake:
            fake.always(hello)
            return per_call(lambda: client.converse(**ASKED), 20)

    def opened() -> None:
        with fake_converse():
            pass

    rounds = Rounds(
        ROUNDS,
        ours=ours,
        floor=lambda: per_call(lambda: bare.converse(**ASKED), 20),
        opened=lambda: per_call(opened, 20),
    )
    note = f"client alone {1e6 * rounds.median('floor'):.0f} us"
    return [
        Row("open", 1e6 * rounds.median("opened")),
        Row("call", 1e6 * rounds.over("ours", "floor"), note),
        Row("call share", rounds.share("ours", "floor")),
    ]
