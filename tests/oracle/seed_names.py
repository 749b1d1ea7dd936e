"""The names of the vocabulary of Strands that its documentation had when this project began, and what each is.

`memory.MemoryEntry` is `strands.memory.types.MemoryEntry`; other subjects are modules of `strands.types`.
"""

from collections.abc import Mapping
from typing import Final, Literal

Kind = Literal[
    "abstract class",
    "alias",
    "dataclass",
    "enum",
    "exception",
    "function",
    "literal",
    "protocol",
    "typed dict",
]

_NAMES: Final[Mapping[str, Mapping[Kind, str]]] = {
    "citations": {
        "typed dict": (
            "Citation CitationGeneratedContent CitationSourceContent CitationsConfig CitationsContentBlock "
            "DocumentCharLocation DocumentChunkLocation DocumentPageLocation SearchResultLocation WebLocation"
        ),
    },
    "content": {
        "alias": "Messages",
        "literal": "Role",
        "typed dict": (
            "CachePoint ContentBlock ContentBlockDelta ContentBlockStart ContentBlockStartToolUse "
            "ContentBlockStop DeltaContent GuardContent GuardContentText Message ReasoningContentBlock "
            "ReasoningTextBlock SystemContentBlock"
        ),
    },
    "event_loop": {
        "literal": "StopReason",
        "typed dict": "Metrics Usage",
    },
    "exceptions": {
        "exception": (
            "ContextWindowOverflowException EventLoopException MCPClientInitializationError "
            "ModelThrottledException SessionException"
        ),
    },
    "guardrails": {
        "typed dict": (
            "ContentFilter ContentPolicy ContextualGroundingFilter ContextualGroundingPolicy CustomWord "
            "GuardrailAssessment GuardrailConfig GuardrailTrace ManagedWord PIIEntity Regex "
            "SensitiveInformationPolicy Topic TopicPolicy Trace WordPolicy"
        ),
    },
    "media": {
        "literal": "DocumentFormat ImageFormat VideoFormat",
        "typed dict": "DocumentContent DocumentSource ImageContent ImageSource VideoContent VideoSource",
    },
    "memory": {
        "dataclass": "AddMessagesContext InjectionFormatContext InjectionQueryContext MemoryEntry",
        "protocol": "InjectionFormatCallback InjectionQueryCallback MemoryStore",
        "typed dict": (
            "MemoryAddOptions MemoryAddToolConfig MemoryInjectionConfig MemoryManagerConfig "
            "MemorySearchOptions MemoryStoreConfig MemoryToolConfig SearchOptions"
        ),
    },
    "session": {
        "dataclass": "Session SessionAgent SessionMessage",
        "enum": "SessionType",
        "function": "decode_bytes_values encode_bytes_values",
    },
    "streaming": {
        "alias": "CitationLocation",
        "typed dict": (
            "CitationSourceContentDelta CitationsDelta ContentBlockDelta ContentBlockDeltaEvent "
            "ContentBlockDeltaText ContentBlockDeltaToolUse ContentBlockStartEvent ContentBlockStopEvent "
            "ExceptionEvent MessageStartEvent MessageStopEvent MetadataEvent ModelStreamErrorEvent "
            "ReasoningContentBlockDelta RedactContentEvent StreamEvent"
        ),
    },
    "tools": {
        "abstract class": "AgentTool",
        "alias": (
            "JSONSchema RunToolHandler ToolChoice ToolChoiceAnyDict ToolChoiceAutoDict ToolChoiceToolDict ToolGenerator"
        ),
        "dataclass": "ToolContext",
        "literal": "ToolResultStatus",
        "protocol": "ToolFunc _Interruptible",
        "typed dict": (
            "Tool ToolChoiceAny ToolChoiceAuto ToolChoiceTool ToolConfig ToolResult ToolResultContent ToolSpec ToolUse"
        ),
    },
}
"""Subjects, kinds, and the names of this kind."""

SEED_NAMES: Final[Mapping[str, Kind]] = {
    f"{subject}.{name}": kind
    for subject, kinds in _NAMES.items()
    for kind, names in kinds.items()
    for name in names.split()
}
"""All 117, as `content.Message`."""
