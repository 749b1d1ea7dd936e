"""What a user's type checker must refuse of the contract kit: the lines that end in a comment `error`, and no other."""

from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall, consumer_contract


class TestDoor(ConsumerContract):
    transport = 5  # error


class TestKnown(ConsumerContract):
    known = ("cut_off",)  # error


class TestLimit(ConsumerContract):
    time_limit = "5"  # error


class TestReasons(ConsumerContract):
    stop_reasons = 5  # error


class TestNext(ConsumerContract):
    def consume_next(self) -> Outcome:  # error
        return Outcome()


class TestText(ConsumerContract):
    def consume(self, target: Target) -> str:  # error
        return ""


def ask(target: Target) -> Outcome:
    target.urls  # error
    target.patience = 5.0  # error
    return Outcome(tool_calls=[("a", {})])  # error


def no_target() -> Outcome:
    return Outcome(text=None)  # error


ToolCall("a", ["b"])  # error
consumer_contract(no_target)  # error
consumer_contract("ask")  # error
