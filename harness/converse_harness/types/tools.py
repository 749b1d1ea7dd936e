"""Tools: what a model is told of them, what it asks of them, what they answer, and the tools themselves."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Generic, Literal, NotRequired, Protocol, TypeAlias, TypedDict, TypeVar
from uuid import NAMESPACE_OID, uuid5

from converse_harness.types.media import DocumentContent, ImageContent

AgentT = TypeVar("AgentT")

JSONSchema: TypeAlias = dict[str, Any]
"""A JSON Schema."""


class ToolSpec(TypedDict):
    """What a model is told of a tool: its name, what it is for, and the JSON Schema of its input.

    Strands takes `inputSchema` bare or, as the AWS API has it, as `{"json": schema}`. `outputSchema` and `annotations`
    (hints of the tool's provider; in strands-agents 1.62, newer than the pages these types follow) need not be there.
    """

    description: str
    inputSchema: JSONSchema
    name: str
    outputSchema: NotRequired[JSONSchema]
    annotations: NotRequired[dict[str, object]]


class Tool(TypedDict):
    """A tool of a request: a dict with its specification."""

    toolSpec: ToolSpec


class ToolUse(TypedDict):
    """A model asks for a tool: by name, with an input, under an id that the result must name.

    `reasoningSignature`: in strands-agents 1.62, newer than the pages these types follow.
    """

    input: Any
    name: str
    toolUseId: str
    reasoningSignature: NotRequired[str]


class ToolResultContent(TypedDict, total=False):
    """A part of what a tool answers: a dict with exactly one of these members."""

    document: DocumentContent
    image: ImageContent
    json: Any
    text: str


ToolResultStatus: TypeAlias = Literal["success", "error"]
"""Whether a tool did what it was asked to do."""


class ToolResult(TypedDict):
    """What a tool answers to the use of this id."""

    content: list[ToolResultContent]
    status: ToolResultStatus
    toolUseId: str


class ToolChoiceAuto(TypedDict):
    """The model may use tools or not. It has no members."""


class ToolChoiceAny(TypedDict):
    """The model must use some tool. It has no members."""


class ToolChoiceTool(TypedDict):
    """The model must use the tool of this name."""

    name: str


ToolChoiceAutoDict: TypeAlias = dict[Literal["auto"], ToolChoiceAuto]
"""The model may use tools or not, under its tag."""

ToolChoiceAnyDict: TypeAlias = dict[Literal["any"], ToolChoiceAny]
"""The model must use some tool, under its tag."""

ToolChoiceToolDict: TypeAlias = dict[Literal["tool"], ToolChoiceTool]
"""The model must use a certain tool, under its tag."""

ToolChoice: TypeAlias = ToolChoiceAutoDict | ToolChoiceAnyDict | ToolChoiceToolDict
"""Whether and which tool a model must use: a dict of exactly one tag."""


class ToolConfig(TypedDict):
    """The tools of a request, and which of them the model must use."""

    tools: list[Tool]
    toolChoice: ToolChoice


RunToolHandler: TypeAlias = Callable[[ToolUse], AsyncGenerator[dict[str, Any], None]]
"""Runs one tool use; the last of what it yields is the ToolResult. `run_tools` makes one."""

ToolGenerator: TypeAlias = AsyncGenerator[Any, None]
"""What a tool yields while it works; the last is its ToolResult."""


class ToolFunc(Protocol):
    """A function that is a tool: it takes a ToolUse and more, and returns a ToolResult or awaits one. `echo` is one."""

    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> ToolResult | Awaitable[ToolResult]:
        """Do what the tool is for."""
        ...


@dataclass
class Interrupt:
    """A question to a person: `reason` is what to show them, `response` their answer, None as long as there is none."""

    id: str
    name: str
    reason: Any = None
    response: Any = None


class InterruptException(Exception):
    """A person has to answer `interrupt` before the tool can go on."""

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__(interrupt)
        self.interrupt = interrupt


class _Interruptible(Protocol):
    """What can stop to ask a person. `ToolContext` can."""

    def interrupt(self, name: str, reason: Any = None, response: Any = None) -> Any:
        """The person's answer to the question of this name; raises InterruptException as long as there is none."""
        ...


@dataclass
class ToolContext(_Interruptible, Generic[AgentT]):
    """What a tool is told beside its input: the tool use, the agent, what the caller of the agent gave it.

    `cancel_signal` is set when the tool should stop (in strands-agents 1.62, newer than the pages these types follow).
    `interrupts` are the questions asked so far, by id: give them to the next context, and the tool gets its answers. It
    is no field of Strands, which keeps them in its agent.

    >>> delete = {"toolUseId": "tooluse_1", "name": "delete", "input": {"key": "k"}}
    >>> context = ToolContext(tool_use=delete, agent=None, invocation_state={})
    >>> try:
    ...     context.interrupt("sure", reason="delete k?")
    ... except InterruptException as stop:
    ...     stop.interrupt.response = "yes"
    >>> context.interrupt("sure", reason="delete k?")
    'yes'
    """

    tool_use: ToolUse
    agent: AgentT
    invocation_state: dict[str, Any]
    cancel_signal: Event = field(default_factory=Event, repr=False, compare=False)
    interrupts: dict[str, Interrupt] = field(default_factory=dict[str, Interrupt], repr=False, compare=False)

    def interrupt(self, name: str, reason: Any = None, response: Any = None) -> Any:
        """The person's answer to the question of this name, `response` if that is known beforehand.

        Raises InterruptException as long as there is no answer; the answer belongs into its `interrupt.response`.
        """
        # The id is the one that Strands gives: the same question of the same tool use has it again.
        key = f"v1:tool_call:{self.tool_use['toolUseId']}:{uuid5(NAMESPACE_OID, name)}"
        question = self.interrupts.setdefault(key, Interrupt(key, name, reason, response))
        if question.response is None:
            raise InterruptException(question)
        return question.response


class AgentTool(ABC):
    """A tool that an agent can use; `FunctionTool` is the least of them."""

    _is_dynamic: bool

    def __init__(self) -> None:
        self._is_dynamic = False

    @property
    @abstractmethod
    def tool_name(self) -> str:
        """The name by which models ask for it."""

    @property
    @abstractmethod
    def tool_spec(self) -> ToolSpec:
        """What models are told of it."""

    @property
    @abstractmethod
    def tool_type(self) -> str:
        """How it is made, such as `"python"`."""

    @property
    def supports_hot_reload(self) -> bool:
        """Whether it is loaded again when its source changes; False here."""
        return False

    @abstractmethod
    def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> ToolGenerator:
        """Do what the tool is for; the last of what is yielded is the ToolResult.

        `invocation_state` are the keyword arguments that the agent was called with.
        """

    @property
    def is_dynamic(self) -> bool:
        """Whether it was loaded while the agent was at work already."""
        return self._is_dynamic

    def mark_dynamic(self) -> None:
        """Say that it was loaded while the agent was at work already."""
        self._is_dynamic = True

    def get_display_properties(self) -> dict[str, str]:
        """What to show people of it: `Name` and `Type`."""
        return {"Name": self.tool_name, "Type": self.tool_type}


class FunctionTool(AgentTool):
    """A tool that calls a function with the ToolUse and the keyword arguments that the agent was called with.

    `function` returns a ToolResult, or awaits one; what it raises is raised. An Agent of Strands takes it once
    `strands.types.tools.AgentTool.register(FunctionTool)` was called.

    >>> spec = {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}}
    >>> FunctionTool(spec, echo).get_display_properties()
    {'Name': 'echo', 'Type': 'function'}
    """

    def __init__(self, spec: ToolSpec, function: ToolFunc) -> None:
        super().__init__()
        self._spec = spec
        self._function = function

    def __repr__(self) -> str:
        return f"FunctionTool({self._spec!r}, {self._function.__name__})"

    @property
    def tool_name(self) -> str:
        """The name of its specification."""
        return self._spec["name"]

    @property
    def tool_spec(self) -> ToolSpec:
        """The specification it was made with."""
        return self._spec

    @property
    def tool_type(self) -> str:
        """Always `"function"`."""
        return "function"

    async def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> ToolGenerator:
        """Call the function; the only thing yielded is its ToolResult."""
        result = self._function(tool_use, **invocation_state, **kwargs)
        yield await result if isinstance(result, Awaitable) else result


def echo(tool_use: ToolUse, **kwargs: Any) -> ToolResult:
    """The least ToolFunc: the result is the input.

    >>> echo({"toolUseId": "tooluse_1", "name": "echo", "input": {"city": "Zürich"}})
    {'content': [{'json': {'city': 'Zürich'}}], 'status': 'success', 'toolUseId': 'tooluse_1'}
    """
    return {"content": [{"json": tool_use["input"]}], "status": "success", "toolUseId": tool_use["toolUseId"]}


def run_tools(*tools: AgentTool) -> RunToolHandler:
    """A RunToolHandler for these tools: a use of any other tool gets a result with the status `"error"`."""
    known: Mapping[str, AgentTool] = {tool.tool_name: tool for tool in tools}

    async def handler(tool_use: ToolUse) -> AsyncGenerator[dict[str, Any], None]:
        tool = known.get(tool_use["name"])
        if tool is None:
            text = f"There is no tool {tool_use['name']!r}; there is {', '.join(known) or 'none'}."
            yield {"content": [{"text": text}], "status": "error", "toolUseId": tool_use["toolUseId"]}
            return
        async for event in tool.stream(tool_use, {}):
            yield event

    return handler
