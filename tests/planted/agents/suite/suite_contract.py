"""The contract of the agent: thirty lines."""

from agent import Agent, AgentError, Blocked, Busy, TooLong

from converse_harness.contract import ConsumerContract, Outcome, ToolCall


class TestAgent(ConsumerContract):
    examples = 40
    errors = {  # noqa: RUF012
        Blocked: "GuardrailIntervened",
        Busy: "ThrottlingException",
        TooLong: "ContextOverflow",
    }

    def consume(self, target):
        config = target.request["toolConfig"]["tools"][0]["toolSpec"]
        self.agent = Agent(target.client, {"get_weather": (config, target.tool)}, max_tries=2)
        return self.asked(target)

    def consume_next(self, target):
        return self.asked(target)

    def asked(self, target):
        try:
            answer = self.agent.ask(target.request["messages"][0]["content"][0]["text"])
        except AgentError as error:
            return Outcome("", self.ran(), error=error)
        return Outcome(
            answer.text,
            self.ran(),
            answer.stop_reason,
            citations=answer.citations,
            usage=answer.usage,
            trace=answer.trace,
            content=answer.content,
        )

    def ran(self):
        return [ToolCall(name, given) for name, given in self.agent.ran]
