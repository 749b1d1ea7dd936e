"""What may cost how much: one table by subjects, which the measurements fill and the report prints.

The gate is what callgrind counts: the instructions that we execute beyond the client, in percent of those that the
client executes for the same call. They vary by 0.1 %, whatever else the machine does.

A budget in instructions is the budget in milliseconds, times the instructions that our code executes in a millisecond,
divided by the client's instructions for the same call. On the machine of these budgets our code executes 9 million in a
millisecond of CPU: 1.24 M took 0.13 ms, 2.52 M 0.29 ms, and 66 M 7 ms at the start of pytest. `record()` looks for
secrets with regular expressions, and executes 16 million.

| what | budget | in instructions | the client's own | share |
|---|---|---|---|---|
| a Converse call | 0.2 ms | 1.8 M | 1.98 M | 91 % |
| a ConverseStream call with a tool use | 0.25 ms | 2.25 M | 6.23 M | 36 % |
| a call with 20 tools | 0.5 ms | 4.5 M | 7.37 M | 61 % |
| a call with 100 tools | 1.5 ms | 13.5 M | 28.5 M | 47 % |
| call 200 of an agent | 3 ms | 27 M | 97.3 M | 28 % |
| the first event | 0.5 ms | 4.5 M | 1.94 M | 230 % |
| a condition that does not match | 2 us | 0.018 M | 1.98 M, a Converse call | 0.9 % |
| leaving `record()`, an event | 100 us | 1.6 M | 0.18 M, an event | 890 % |
| start of pytest | 10 ms | 90 M | 863 M, pytest without plugins | 10.4 % |

The 2 % and 8 % of streams are shares already; so is the 0.6 of a replay. Of a replay's 15.7 M instructions some 10 M
are the client's own, and as many of vcrpy's 23.5 M. The budget of a stage that a call does not use is 0: below 0.1 %
the count cannot tell. What is missed is one call of each method, and the question whether there is a cachePoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from benchmarks.limits import Budget

BUDGETS: Final[Mapping[str, Mapping[str, Budget]]] = {
    "instructions": {
        "instructions share cached": Budget("a stream of 1,000 events, reply sent before", "%", 2, gate=True),
        "instructions share fresh": Budget("... new reply", "%", 8, gate=True),
        "instructions first": Budget("first event of a new reply of 50 events", "%", 230, gate=True),
        "instructions call": Budget("a Converse call, the only one of its fake", "%", 91, gate=True),
        "instructions call tools": Budget("a ConverseStream call with a tool use", "%", 36, gate=True),
        "instructions call 20 tools": Budget("a Converse call with 20 tools", "%", 61, gate=True),
        "instructions call 100 tools": Budget("... with 100 tools", "%", 47, gate=True),
        "instructions agent": Budget("call 200 of an agent with 20 tools", "%", 28, gate=True),
        "instructions condition": Budget("a `when` that does not match, of 1,000", "%", 0.9, gate=True),
        "instructions stages": Budget("stages that a call does not use, all of them", "%", 0.1, gate=True, reached=1.2),
        "instructions replay": Budget(
            "a stream of 50 events from a file / from vcrpy", "x", 0.6, gate=True, reached=0.7
        ),
        "instructions leave": Budget("leaving `record()`, an event", "%", 890, gate=True),
        "instructions start": Budget("start of pytest that our plugin adds", "%", 10.4, gate=True),
    },
    "streams": {
        "share cached": Budget("our share of a stream of 1,000 events, reply sent before", "%", 2),
        "share fresh": Budget("our share of a stream of 1,000 events, new reply", "%", 8),
        "share cached tools": Budget("... of text and a tool use, reply sent before", "%", 2),
        "share fresh tools": Budget("... of text and a tool use, new reply", "%", 8),
        "share cached 50": Budget("... of 50 events, reply sent before", "%"),
        "share fresh 50": Budget("... of 50 events, new reply", "%"),
        "first": Budget("first event of a new reply of 50 events, beyond the client's own", "ms", 0.5),
        "first 1000": Budget("... of 1,000 events", "ms", 0.5),
        "first tools": Budget("... of text and a tool use, 50 events", "ms", 0.5),
        "write": Budget("writing a reply of 1,000 events: reply.text()", "ms"),
    },
    "calls": {
        "call": Budget("a Converse call, the only one of its fake, beyond the client's own", "ms", 0.2),
        "call later": Budget("... the third call of its fake", "ms"),
        "call tools": Budget("a ConverseStream call with a tool use, beyond the client's own", "ms", 0.25),
        "call tools later": Budget("... the third call of its fake", "ms"),
        "call 20 tools": Budget("a Converse call with 20 tools, beyond the client's own", "ms", 0.5),
        "call 100 tools": Budget("... with 100 tools", "ms", 1.5),
        "open": Budget("opening and closing a fake, between calls", "us"),
        "client": Budget("a client from the harness / from botocore", "x"),
        "condition": Budget("a `when` that does not match, of 1,000", "us", 2),
    },
    "asynchronous": {
        "aiohttp call": Budget("a Converse call over aiohttp, beyond a null server in memory", "ms", 0.3),
        "aiohttp stream": Budget("... a stream with a tool use", "ms"),
    },
    "conversations": {
        "agent": Budget("call 200 of an agent with 20 tools, beyond the client's own", "ms", 3),
        "history": Budget("a call of a tool loop of three turns, earlier answers compared / not", "x", 1.15),
        "history long": Budget("... of forty turns", "x", 1.25),
        "cache": Budget("a call of twenty turns with cache points, beyond one without", "us"),
        "cache rewrites": Budget("... asking 200 calls what was written to the cache again", "ms"),
    },
    "memory": {
        "memory event": Budget("memory kept for an event of a call", "B", 350),
        "memory call": Budget("memory kept for a call of five events", "kB", 3),
        "memory agent": Budget("memory kept for 200 calls of an agent with 20 tools", "MB", 15),
        "long request": Budget("a request of 25 MB, beyond the client's own", "ms"),
        "long request kept": Budget("... memory kept", "MB"),
    },
    "growth": {
        "growth events": Budget("growth of a stream with its events", "", 1.1),
        "growth calls": Budget("growth of a fake with its calls", "", 1.1),
        "growth conditions": Budget("growth of a call with the `when`s before it", "", 1.1),
        "growth exchanges": Budget("growth of a recording's opening with its exchanges", "", 1.1),
        "growth messages": Budget("growth of a call with the messages of its conversation", "", 1.1),
        "growth turns": Budget("growth of an agent's last call with its turns", "", 1.1),
        "growth tools": Budget("growth of a call with its tools", "", 1.1),
    },
    "suite": {
        "test": Budget("a test with `converse`, one Converse call, beyond the client's own", "ms", 1),
        "test stream": Budget("... one ConverseStream call", "ms", 1),
        "test fixture": Budget("... no call: the fixture alone", "ms"),
        "strands": Budget("a test with a strands agent, botocore's data kept, beyond an empty test", "ms", 25),
        "strands plain": Budget("... botocore's data not kept", "ms"),
    },
    "rivals": {
        "rival ours": Budget("a test with one Converse call / an empty one: `converse`", "ms more"),
        "rival recording": Budget("... `converse` with a recording", "ms more"),
        "rival Stubber": Budget("... botocore's Stubber", "ms more"),
        "rival cassetter": Budget("... cassetter", "ms more"),
        "rival vcrpy": Budget("... vcrpy", "ms more"),
        "rival pytest-recording": Budget("... pytest-recording", "ms more"),
        "rival pytest-httpserver": Budget("... pytest-httpserver", "ms more"),
        "rival aimock": Budget("... aimock", "ms more"),
        "rival moto": Budget("... moto", "ms more"),
    },
    "startup": {
        "start-up": Budget("start of pytest that our plugin adds when it is not used", "ms", 10),
        "import": Budget("... of it the import of converse_harness.plugin", "ms"),
        "collect": Budget("`pytest --collect-only` of a test with all cases, beyond a start without plugins", "s", 0.3),
        "start none": Budget("a run of pytest with one test, without plugins", "ms"),
        "start anyio": Budget("... what anyio adds", "ms"),
        "start faker": Budget("... what faker adds", "ms"),
        "start respx": Budget("... what respx adds", "ms"),
        "start hypothesispytest": Budget("... what hypothesis adds", "ms"),
        "start converse": Budget("... what converse-harness adds", "ms"),
        "start all": Budget("... what all five add", "ms"),
        "start documented": Budget("... what they add with the documented addopts", "ms"),
    },
    "recordings": {
        "open recording": Budget("opening a recording of 5,000 exchanges, to its first answer", "s", 0.1),
        "open recording last": Budget("... to its last answer", "s"),
        "replay / vcrpy": Budget("a stream of 50 events from a file / from vcrpy", "x", 0.6),
        "replay / cassetter": Budget("... / from cassetter", "x"),
        "recording size": Budget("size of a recording / of its request and answer", "x", 1.5),
        "leave": Budget("leaving `record()`, for each event", "us", 100),
        "recording": Budget("what recording adds to a stream of 1,000 events over the loopback", "%", 5),
    },
    "server": {
        "loopback 50": Budget("a stream of 50 events over the loopback / in process", "x", 1.6),
        "loopback 1000": Budget("a stream of 1,000 events over the loopback / in process", "x", 1.25),
        "first loopback": Budget("first event of a new reply over the loopback, beyond the client's own", "ms", 1),
        "stall": Budget("a paced stream beyond the sum of its pauses: no stall of 40 ms", "ms", 20),
    },
    "load": {
        "pause": Budget("longest pause of the server, 8 connections", "ms", 40),
        "start": Budget("start of the server, after the first", "ms"),
        "stop": Budget("stop of the server", "ms"),
        "load / aimock": Budget("CPU of the server for a stream of 50 events, 8 connections / aimock", "x"),
        "load / http.server": Budget("... / http.server", "x"),
        "crowd": Budget("500 streams at once of 20 events 50 ms apart, the slowest / ideal", "x"),
        "crowd stream": Budget("... the median / ideal", "x"),
        "crowd threads": Budget("... threads of the server", ""),
    },
    "properties": {
        "examples": Budget("hypothesis: streams through a boto client in process", "/s", 300, least=True),
        "examples generated": Budget("... streams alone", "/s"),
        "examples plain": Budget("... st.lists(st.text()) alone", "/s"),
        "drawing": Budget("drawing a stream / st.lists(st.text())", "x", 1.3),
        "shrink": Budget("finding a planted bug and its smallest example", "s", 5),
        "shrink longest": Budget("... the longest search", "s"),
        "shrink events": Budget("... events of the smallest example", "", 10),
        "import strategies": Budget("import of three strategies beyond that of hypothesis", "ms", 90),
    },
    "parts": {
        "encode": Budget("encoding an event of a new text / botocore's decoding and parsing of it", "%"),
        "encode tools": Budget("... of a tool's input", "%"),
        "encode other": Budget("... of the events that a stream begins and ends with", "%"),
        "guard": Budget("a request to another host while a fake is open, beyond one without", "us"),
    },
}
"""By subjects, and by the names under which their measurements report."""

ALL: Final[Mapping[str, Budget]] = {name: budget for each in BUDGETS.values() for name, budget in each.items()}
