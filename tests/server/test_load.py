"""Many at once, and many one after the other. Nothing here fails for being slow: the budgets are in benchmarks/."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from converse_harness import ConverseServer, reply
from tests.server.conftest import sockets
from tests.server.peers import Raw, Raw2, eventually, question

STREAMS = 500
EVENTS = 20
PACE = 0.05


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    """As many open files as two ends of each connection need, where the system has to be asked."""
    resource = pytest.importorskip("resource", reason="Windows does not count them")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * STREAMS
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def read_to_the_end(url: str) -> int:
    """Make a call as a client that keeps no connection; how many events came."""
    host, port = url.split("/")[2].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(question(url, headers="Connection: close\r\n"))
    data = await reader.read()
    writer.close()
    await writer.wait_closed()
    return data.count(b":event-type")


def test_500_streams_at_once_have_one_thread_and_their_pace() -> None:
    threads = threading.active_count()
    most = 0
    paced = reply.text((EVENTS - 4) * "word ", pieces=(EVENTS - 4) * ["word "]).paced(first=PACE, each=PACE)

    async def all_of_them(url: str) -> list[int]:
        async def count_threads() -> None:
            nonlocal most
            while True:
                most = max(most, threading.active_count())
                await asyncio.sleep(PACE)

        counting = asyncio.create_task(count_threads())
        counts = await asyncio.gather(*(read_to_the_end(url) for _ in range(STREAMS)))
        counting.cancel()
        return counts

    with ConverseServer() as server, server.script() as fake:
        fake.always(paced)
        counts = asyncio.run(asyncio.wait_for(all_of_them(fake.url), 60))
        assert counts == [EVENTS] * STREAMS
        assert most == threads + 1
    assert len(fake.calls) == STREAMS
    assert {call.outcome for call in fake.calls} == {"complete"}
    early = [(index, at) for call in fake.calls for index, (_, at) in enumerate(call.events) if at < PACE * (index + 1)]
    assert early == []


def resident() -> int:
    """Bytes of memory that this process has, where the system tells."""
    page = os.sysconf("SC_PAGE_SIZE")
    return int(Path("/proc/self/statm").read_text().split()[1]) * page


@pytest.mark.parametrize(
    "rounds_of_50", [(1, 1, 3, 1), pytest.param((10, 5, 15, 170), marks=pytest.mark.slow)], ids=["300", "10,000"]
)
def test_hundreds_of_requests_leave_nothing(rounds_of_50: tuple[int, int, int, int]) -> None:
    warm, first, measured, more = rounds_of_50
    answer = reply.text("one two three")

    def rounds(server: ConverseServer, count: int) -> None:
        for _ in range(count):
            with server.script(*[answer] * 50) as fake, Raw(fake.url) as one, Raw2(fake.url) as two:
                for number in range(20):
                    assert one.ask(fake.url).status == 200
                    two.ask(2 * number + 1)
                    two.answer(2 * number + 1)
                for _ in range(10):
                    with Raw(fake.url) as peer:
                        assert peer.ask(fake.url).status == 200

    with ConverseServer() as server:
        rounds(server, warm)
        eventually(lambda: server._thread.connections == set())
        gc.collect()
        tracemalloc.start()
        try:
            rounds(server, first)
            eventually(lambda: server._thread.connections == set())
            gc.collect()
            before, open_before, threads = tracemalloc.take_snapshot(), sockets(), threading.active_count()
            rounds(server, measured)
            eventually(lambda: server._thread.connections == set())
            gc.collect()
            after = tracemalloc.take_snapshot()
        finally:
            tracemalloc.stop()
        rounds(server, more)
        eventually(lambda: server._thread.connections == set())
        eventually(lambda: sockets() == open_before)  # the event loop closes a socket after it has said so
        assert threading.active_count() == threads
    ours = [tracemalloc.Filter(True, "*/converse_harness/*"), tracemalloc.Filter(True, "*/asyncio/*")]
    ours += [tracemalloc.Filter(True, "*/h2/*"), tracemalloc.Filter(True, "*/h11/*")]
    grown = after.filter_traces(ours).compare_to(before.filter_traces(ours), "lineno")
    # A Call for each of 150 requests would be 375 kB. What there is comes from the tuples that Python keeps for reuse.
    assert sum(each.size_diff for each in grown) < 150_000, [str(each) for each in grown[:5]]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_the_memory_of_the_process_does_not_grow_with_its_connections(server: ConverseServer) -> None:
    with server.script() as fake:
        fake.always(reply.text("x"))

    def connect(count: int) -> None:
        for _ in range(count):
            with Raw(server.url) as peer:
                assert peer.ask(f"{server.url}/nobody").status == 404

    connect(500)
    before = resident()
    connect(3000)
    assert resident() - before < 3_000_000


def test_8_threads_with_a_script_each_never_see_each_other(server: ConverseServer) -> None:
    scripts, calls = 3, 10

    def run(name: int) -> int:
        for number in range(scripts):
            texts = [f"answer {call} of script {number} of thread {name}" for call in range(calls)]
            with server.script(*map(reply.text, texts)) as fake, Raw(fake.url) as one, Raw2(fake.url) as two:
                for index, text in enumerate(texts):
                    body = b'{"messages": [{"role": "user", "content": [{"text": "%b"}]}]}' % text.encode()
                    if index % 2:
                        two.ask(index, "converse", body)
                        said = two.answer(index)
                    else:
                        said = one.send(question(fake.url, "converse", body)).answer().body
                    assert b'{"text":"%b"}' % text.encode() in said
            assert [call.last_user_text for call in fake.calls] == texts
        return scripts * calls

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(run, range(8), timeout=60)) == 8 * scripts * calls
    assert server.fakes == []
