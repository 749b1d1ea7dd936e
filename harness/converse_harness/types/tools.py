"""Tools: their specifications, uses and results, and the tools themselves."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Generic, Literal, NotRequired, Protocol, TypeAlias, TypedDict, TypeVar
from uuid import NAMESPACE_OID, uuid5

from converse_harness.types.media import DocumentContent, ImageContent

AgentT = TypeVar("AgentT")

JSONSchema: TypeAlias = dict[str, Any]
"""A JSON Schema as a Python dict."""


class ToolSpec(TypedDict):
    """A tool's description for the model: its name, its purpose, and the JSON Schema of its input.

    For Strands, `inputSchema` is the schema itself or, as in the AWS API, `{"json": schema}`. `outputSchema` and
    `annotations` (hints of the tool's provider) are optional. `annotations` is in strands-agents 1.62, but not in the
    documentation that these types follow.
    """

    description: str
    inputSchema: JSONSchema
    name: str
    outputSchema: NotRequired[JSONSchema]
    annotations: NotRequired[dict[str, object]]


class Tool(TypedDict):
    """A tool in a request: a dict with the tool's specification."""

    toolSpec: ToolSpec


class ToolUse(TypedDict):
    """A model's request to use a tool: the tool's name, the input, and the id to which the result refers.

    `reasoningSignature` is in strands-agents 1.62, but not in the documentation that these types follow.
    """

    input: Any
    name: str
    toolUseId: str
    reasoningSignature: NotRequired[str]


class ToolResultContent(TypedDict, total=False):
    """A part of a tool's result: a dict with exactly one of these members."""

    document: DocumentContent
    image: ImageContent
    json: Any
    text: str


ToolResultStatus: TypeAlias = Literal["success", "error"]
"""Whether a tool use succeeded."""


class ToolResult(TypedDict):
    """The result of the tool use with the id `toolUseId`."""

    content: list[ToolResultContent]
    status: ToolResultStatus
    toolUseId: str


class ToolChoiceAuto(TypedDict):
    """The model may use tools or not. This dict has no members."""


class ToolChoiceAny(TypedDict):
    """The model must use some tool. This dict has no members."""


class ToolChoiceTool(TypedDict):
    """The model must use the tool of this name."""

    name: str


ToolChoiceAutoDict: TypeAlias = dict[Literal["auto"], ToolChoiceAuto]
"""A dict whose only key, `auto`, has a ToolChoiceAuto as its value."""

ToolChoiceAnyDict: TypeAlias = dict[Literal["any"], ToolChoiceAny]
"""A dict whose only key, `any`, has a ToolChoiceAny as its value."""

ToolChoiceToolDict: TypeAlias = dict[Literal["tool"], ToolChoiceTool]
"""A dict whose only key, `tool`, has a ToolChoiceTool as its value."""

ToolChoice: TypeAlias = ToolChoiceAutoDict | ToolChoiceAnyDict | ToolChoiceToolDict
"""Whether the model must use a tool, and which one: a dict with exactly one of the keys `auto`, `any` and `tool`."""


class ToolConfig(TypedDict):
    """The tools of a request, and the choice among them."""

    tools: list[Tool]
    toolChoice: ToolChoice


RunToolHandler: TypeAlias = Callable[[ToolUse], AsyncGenerator[dict[str, Any], None]]
"""Function that runs one tool use; the last item that it yields is the ToolResult. `run_tools` makes such functions."""

ToolGenerator: TypeAlias = AsyncGenerator[Any, None]
"""The generator of a running tool; the last item that it yields is the ToolResult."""


class ToolFunc(Protocol):
    """A function that runs a tool, such as `echo`.

    The function takes a ToolUse and further arguments; it returns a ToolResult or an awaitable of a ToolResult.
    """

    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> ToolResult | Awaitable[ToolResult]:
        """Run the tool."""
        ...


@dataclass
class Interrupt:
    """A question to a person: `reason` is the text to show, `response` the answer (None until there is an answer)."""

    id: str
    name: str
    reason: Any = None
    response: Any = None


class InterruptException(Exception):
    """A person must answer `interrupt` before the tool can continue."""

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__(interrupt)
        self.interrupt = interrupt


class _Interruptible(Protocol):
    """An object, such as a `ToolContext`, with a method that interrupts the run until a person answers a question."""

    def interrupt(self, name: str, reason: Any = None, response: Any = None) -> Any:
        """Return the person's answer to the question `name`. Raises InterruptException if there is no answer yet."""
        ...


@dataclass
class ToolContext(_Interruptible, Generic[AgentT]):
    """The context of a tool's run: the tool use, the agent, and the keyword arguments of the agent's call.

    `cancel_signal` is set when the tool should stop; it is in strands-agents 1.62, but not in the documentation that
    these types follow. `interrupts` maps the ids of the questions so far to the questions. Pass `interrupts` to the
    context of the next run, so that the tool gets the answers. Strands has no such field; there, the agent stores the
    questions.

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
        """Return the person's answer to the question of this name; `response` is an answer known beforehand.

        Raises InterruptException if there is no answer yet; store the answer in the exception's `interrupt.response`.
        """
        # Strands builds the id in the same way: the same question of the same tool use always has the same id.
        key = f"v1:tool_call:{self.tool_use['toolUseId']}:{uuid5(NAMESPACE_OID, name)}"
        question = self.interrupts.setdefault(key, Interrupt(key, name, reason, response))
        if question.response is None:
            raise InterruptException(question)
        return question.response


class AgentTool(ABC):
    """A tool that an agent can use; `FunctionTool` is the simplest implementation."""

    _is_dynamic: bool

    def __init__(self) -> None:
        self._is_dynamic = False

    @property
    @abstractmethod
    def tool_name(self) -> str:
        """The name by which models call the tool."""

    @property
    @abstractmethod
    def tool_spec(self) -> ToolSpec:
        """The tool's specification for models."""

    @property
    @abstractmethod
    def tool_type(self) -> str:
        """The kind of tool, such as `"python"`."""

    @property
    def supports_hot_reload(self) -> bool:
        """Whether the tool is reloaded when its source changes; False here."""
        return False

    @abstractmethod
    def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> ToolGenerator:
        """Run the tool; the last item yielded is the ToolResult.

        `invocation_state` are the keyword arguments of the agent's call.
        """

    @property
    def is_dynamic(self) -> bool:
        """Whether the tool was loaded while the agent was already running."""
        return self._is_dynamic

    def mark_dynamic(self) -> None:
        """Mark the tool as loaded while the agent was already running."""
        self._is_dynamic = True

    def get_display_properties(self) -> dict[str, str]:
        """The properties to show to people: `Name` and `Type`."""
        return {"Name": self.tool_name, "Type": self.tool_type}


class FunctionTool(AgentTool):
    """A tool that calls a function with the ToolUse and with the keyword arguments of the agent's call.

    `function` returns a ToolResult or an awaitable of one; exceptions that it raises are not caught.
    A Strands Agent accepts the tool after `strands.types.tools.AgentTool.register(FunctionTool)`.

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
        """The name from the tool's specification."""
        return self._spec["name"]

    @property
    def tool_spec(self) -> ToolSpec:
        """The specification given at construction."""
        return self._spec

    @property
    def tool_type(self) -> str:
        """Always `"function"`."""
        return "function"

    async def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> ToolGenerator:
        """Call the function; the only item yielded is its ToolResult."""
        result = self._function(tool_use, **invocation_state, **kwargs)
        yield await result if isinstance(result, Awaitable) else result


def echo(tool_use: ToolUse, **kwargs: Any) -> ToolResult:
    """A ToolFunc whose ToolResult contains the input of the ToolUse.

    >>> echo({"toolUseId": "tooluse_1", "name": "echo", "input": {"city": "Zürich"}})
    {'content': [{'json': {'city': 'Zürich'}}], 'status': 'success', 'toolUseId': 'tooluse_1'}
    """
    return {"content": [{"json": tool_use["input"]}], "status": "success", "toolUseId": tool_use["toolUseId"]}


def run_tools(*tools: AgentTool) -> RunToolHandler:
    """Make a RunToolHandler for these tools. The result for a use of any other tool has the status `"error"`."""
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
