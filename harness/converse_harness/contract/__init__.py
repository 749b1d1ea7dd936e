"""The contract of a consumer: every case of the catalogue, and what holds for any answer, as tests of your own code.

One adapter asks the consumer and says what it made of the answer; the contract says whether that is right:

    from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall

    class TestMyClient(ConsumerContract):
        def consume(self, target: Target) -> Outcome:
            answer = MyClient(target.client).ask(...)
            return Outcome(answer.text, [ToolCall(call.name, call.input) for call in answer.calls], answer.stop_reason)

`pytest` then shows a test for each case, and at the end one table of verdicts. The same for a function:
`TestMyClient = consumer_contract(ask)`.
"""

from converse_harness.contract.consumer import ConsumerContract, consumer_contract
from converse_harness.contract.outcome import Outcome, Target, ToolCall
from converse_harness.contract.running import SetUpFailed
from converse_harness.contract.verdicts import Flaw, Level, NotHandled, Seen, Verdict

__all__ = [
    "ConsumerContract",
    "Flaw",
    "Level",
    "NotHandled",
    "Outcome",
    "Seen",
    "SetUpFailed",
    "Target",
    "ToolCall",
    "Verdict",
    "consumer_contract",
]
