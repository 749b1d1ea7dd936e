// The types of converse-harness' control API. Made from its openapi.json; `converse-harness init vitest --force` writes
// those of another release.

/** What a fake answers, and what must fail the test. */
export type NewFake = {
  script?: Replies;
  when?: Whens;
  always?: EndlessReply;
  /** Whether a test that leaves replies unused fails. Default: "fail". */
  unused?: "fail" | "allow";
  /**
   * Whether a test fails if its client makes a call that is not scripted, or that Bedrock would refuse. Default:
   * "fail".
   */
  unexpected?: "fail" | "allow";
  /**
   * How strictly requests are checked against Bedrock's rules, or against single rules. `serve --rules` changes the
   * default. Default: "default".
   */
  rules?: "off" | "warn" | "default" | "strict" | Record<string, "off" | "warn" | "default" | "strict">;
  /**
   * How strictly answers are checked against what they need in the request. `serve --answers` changes the default.
   * Default: "rules".
   */
  answers?: "rules" | "off" | "warn" | "default" | "strict" | Record<string, "off" | "warn" | "default" | "strict">;
  /**
   * Whether a request that changes an earlier answer gives a note, a failure or nothing. `serve --history` changes the
   * default. Default: "note".
   */
  history?: "note" | "fail" | "off";
  /** Which ids and padding lengths are generated. Default: 0. */
  seed?: number;
  /**
   * How many calls a fake keeps to be looked at, the last ones; null to keep all calls. `serve --keep-calls` changes
   * the default. Default: 2000.
   */
  keep_calls?: number | null;
};

/** What is answered from now on as well. */
export type MoreReplies = {
  script?: Replies;
  when?: Whens;
  always?: EndlessReply;
};

/** Replies in order; each answers one call, or as many as its `times` says. */
export type Replies = Array<Reply>;

/** Answers by what is asked, in the order in which they are tried, before `script` and `always`. */
export type Whens = Array<When>;

/** The calls that meet every condition given, and what answers them: `script` in order, then `always`. */
export type When = {
  /** The model id, decoded. */
  model?: Pattern;
  /** The AWS operation. An operation with `output` replies is named here. */
  operation?: string;
  /** The Bedrock service that has the operation, for an operation that several services have. */
  service?: string;
  /** The text of the last user message that has any. */
  last_user_text?: Pattern;
  /** The system text. */
  system?: Pattern;
  /** The name of any tool that is offered. */
  tool?: Pattern;
  /** Which of the model's answers in the conversation it is, from 1. */
  turn?: number;
  script?: Replies;
  always?: EndlessReply;
};

/** A glob over the whole text, case-sensitive; or a regular expression, searched. Each has at most 500 characters. */
export type Pattern = string | {
  /** The expression. */
  regex: string;
};

/**
 * One answer, the same for Converse and ConverseStream: one member that makes it, and any number of members that
 * change it.
 */
export type Reply = TextReply
  | ToolUsesReply
  | ReasoningReply
  | JsonReply
  | MessageReply
  | EventsReply
  | ResponseReply
  | CitedReply
  | OutputReply
  | AccessDeniedReply
  | ContextOverflowReply
  | ErrorReply
  | ExpiredTokenReply
  | GuardrailBlockedReply
  | GuardrailMaskedReply
  | GuardrailPassedReply
  | InternalServerErrorReply
  | InvalidModelIdReply
  | InvalidSignatureReply
  | ModelErrorReply
  | ModelNotReadyReply
  | ModelTimeoutReply
  | ReadTimeoutReply
  | ResourceNotFoundReply
  | ServiceUnavailableReply
  | ThrottledReply
  | ToolUseReply
  | UnknownOperationReply
  | UnrecognizedClientReply
  | ValidationErrorReply
  | ImprovisedReply
  | EmbeddingReply
  | CaseReply;

/** One answer for any number of calls, which may stay unused: `times` and `optional` are refused beside it. */
export type EndlessReply = {
  times?: never;
  optional?: never;
} & Reply;

/** One text block. */
export type TextReply = {
  /** The text. */
  text: string;
  /** The exact deltas; joined they are the whole. */
  pieces?: Array<string>;
  /** The stop reason, one of AWS's StopReason. */
  stop_reason?: string;
  /** TokenUsage; what it leaves out is estimated. */
  usage?: Record<string, any> | null;
} & Modifiers;

/** Several toolUse blocks, each with a toolUseId of its own. */
export type ToolUsesReply = {
  /** The tools; a list of them alone, where nothing else is said. */
  tool_uses: {
    /** The tools: each a list of its name and its input, or its name alone. */
    uses: Array<string | Array<unknown>>;
    /** A text block before them. */
    text?: string | null;
    /** TokenUsage; what it leaves out is estimated. */
    usage?: Record<string, any> | null;
    /** Whether the name must be one that a request may have; models invent others. Default: true. */
    strict?: boolean;
  } | Array<string | Array<unknown>>;
} & Modifiers;

/** Reasoning, and after it a text or a message. */
export type ReasoningReply = {
  /** The text of the reasoning. */
  reasoning: string;
  /** The text, or the reply with a message, that follows. */
  then?: string | null | Record<string, any>;
  /** The signature; true: as the model that is asked, false: none. Default: true. */
  signature?: string | boolean;
  /** The exact deltas of the reasoning. */
  pieces?: Array<string> | null;
  /** TokenUsage; what it leaves out is estimated. */
  usage?: Record<string, any> | null;
} & Modifiers;

/** One text block that is the JSON of a value: structured output as models send it. */
export type JsonReply = {
  /** Any JSON value. */
  json: unknown;
  /** TokenUsage; what it leaves out is estimated. */
  usage?: Record<string, any> | null;
} & Modifiers;

/** The content blocks of one assistant message. */
export type MessageReply = {
  /** ContentBlocks as the AWS API writes them, blobs in base64; a toolUse may leave its toolUseId out. */
  message: Array<Record<string, any>>;
  /** The stop reason, one of AWS's StopReason; it follows from the blocks if not given. */
  stop_reason?: string;
  /** TokenUsage; what it leaves out is estimated. */
  usage?: Record<string, any>;
  /** ConverseMetrics. */
  metrics?: Record<string, any>;
  /** ConverseTrace. */
  trace?: Record<string, any>;
  /** additionalModelResponseFields: any JSON. */
  additional?: unknown;
  /** PerformanceConfiguration. */
  performance_config?: Record<string, any>;
  /** ServiceTier. */
  service_tier?: Record<string, any>;
  /** The exact deltas of content blocks, by the number of the block from 0. */
  pieces?: Record<string, Array<string>>;
  /** Whether the message must be valid in AWS's model. Default: true. */
  strict?: boolean;
} & Modifiers;

/** Exactly these events. */
export type EventsReply = {
  /** Events of ConverseStream as the AWS API writes them, blobs in base64. */
  events: Array<Record<string, any>>;
  /** Whether the events must be valid and in an order that ConverseStream can send. Default: true. */
  strict?: boolean;
} & Modifiers;

/** A response of Converse or ConverseStream, as an SDK printed it. */
export type ResponseReply = {
  /** A ConverseResponse, a list of events of ConverseStream, or an object with these as `stream`; blobs in base64. */
  response: Record<string, any> | Array<Record<string, any>>;
  /** Whether it must be valid in AWS's model. Default: true. */
  strict?: boolean;
} & Modifiers;

/** Texts, each with the citations that it leans on. */
export type CitedReply = {
  /** Texts in order, each followed by its Citations as the AWS API writes them. */
  cited: Array<string | Record<string, any>>;
  /** The stop reason, one of AWS's StopReason. Default: "end_turn". */
  stop_reason?: string;
  /** TokenUsage. */
  usage?: Record<string, any> | null;
  /** The exact deltas of the texts, by the number of the block from 0. */
  pieces?: Record<string, Array<string>> | null;
} & Modifiers;

/** The answer of an operation other than Converse and ConverseStream. Only a `when` with an operation takes it. */
export type OutputReply = {
  /**
   * The members of the operation's output. Blobs are base64, times are texts in ISO 8601, a stream of events is a list
   * of events.
   */
  output: Record<string, any>;
  /** Whether the members must fit AWS's API model of the operation. Default: true. */
  strict?: boolean;
} & Modifiers;

/** 403 AccessDeniedException: no access to the model. */
export type AccessDeniedReply = {
  /** What it says: true for the usual wording. */
  access_denied: {
    /** What it says. */
    message?: string | null;
  } | true | string;
} & Modifiers;

/** 400 ValidationException in one of the wordings by which clients know that the conversation is too long. */
export type ContextOverflowReply = {
  /** The name of the wording: true for the one that every known client recognises. */
  context_overflow: {
    /** The name of the wording. Default: "input_too_long". */
    wording?: "input_too_long" | "prompt_too_long" | "max_tokens_exceed_context" | "input_tokens_exceeded" | "maximum_context_length" | "too_many_text_bytes" | "too_many_input_tokens";
  } | true | "input_too_long" | "prompt_too_long" | "max_tokens_exceed_context" | "input_tokens_exceeded" | "maximum_context_length" | "too_many_text_bytes" | "too_many_input_tokens";
} & Modifiers;

/** An HTTP error before any stream. */
export type ErrorReply = {
  /** The error, with further members of its shape; its name alone for its usual wording. */
  error: {
    /** An error of Bedrock Runtime; any name if `status` is given. */
    name: string;
    /** What it says; a usual wording if not given. */
    message?: string | null;
    /** The HTTP status; AWS's own if not given. */
    status?: number | null;
  } & Record<string, any> | string;
} & Modifiers;

/** 403 ExpiredTokenException of the gateway: old keys. */
export type ExpiredTokenReply = {
  /** What it says: true for the usual wording. */
  expired_token: {
    /** What it says. */
    message?: string | null;
  } | true | string;
} & Modifiers;

/** A guardrail's message in place of the model's, with stop reason guardrail_intervened. */
export type GuardrailBlockedReply = {
  /** The message; true for the one that the AWS console proposes. */
  guardrail_blocked: {
    /** The guardrail's message. Default: "Sorry, the model cannot answer this question.". */
    text?: string;
    /**
     * What it finds: topic, content, word, managed_word, pii, regex or grounding, or a GuardrailAssessment. Default:
     * "topic".
     */
    policy?: string | Record<string, any>;
    /** Where it looks. */
    side?: "input" | "output" | null;
    /** What the model wrote. */
    original?: string | null;
    /** What was let through before, in the asynchronous stream mode. */
    streamed?: string | null;
    /** Whether the request has the trace enabled. Default: true. */
    trace?: boolean;
    /** Whether what was found leaves out `detected`, which is optional in AWS's model. Default: false. */
    omit_detected?: boolean;
    /** The id or ARN of the guardrail; that of the request if not given. */
    guardrail_id?: string;
    /** Its version. Default: "DRAFT". */
    version?: string;
    /** What is said of the input, a GuardrailAssessment. */
    input_assessment?: Record<string, any> | null;
    /** TokenUsage. */
    usage?: Record<string, any> | null;
    /** ConverseMetrics. */
    metrics?: Record<string, any> | null;
  } | true | string;
} & Modifiers;

/** A text in which a guardrail masked what it found, with stop reason guardrail_intervened. */
export type GuardrailMaskedReply = {
  /** The text with its masks. */
  guardrail_masked: {
    /** The text with its masks, {EMAIL} for instance. */
    text: string;
    /** What the model wrote. */
    original?: string | null;
    /** What it finds: pii or regex, or a GuardrailAssessment. */
    policy?: string | Record<string, any> | null;
    /** Where it looks. */
    side?: "input" | "output" | null;
    /** The exact deltas of the text. */
    pieces?: Array<string> | null;
    /** Whether the request has the trace enabled. Default: true. */
    trace?: boolean;
    /** Whether what was found leaves out `detected`, which is optional in AWS's model. Default: false. */
    omit_detected?: boolean;
    /** The id or ARN of the guardrail; that of the request if not given. */
    guardrail_id?: string;
    /** Its version. Default: "DRAFT". */
    version?: string;
    /** What is said of the input, a GuardrailAssessment. */
    input_assessment?: Record<string, any> | null;
    /** TokenUsage. */
    usage?: Record<string, any> | null;
    /** ConverseMetrics. */
    metrics?: Record<string, any> | null;
  } | string;
} & Modifiers;

/** A text that a guardrail let through, with its trace. */
export type GuardrailPassedReply = {
  /** The text. */
  guardrail_passed: {
    /** The text. */
    text: string;
    /** What it finds: any policy that only tells, automated_reasoning for instance, or a GuardrailAssessment. */
    policy?: string | Record<string, any> | null;
    /** Where it looks. */
    side?: "input" | "output" | null;
    /** The exact deltas of the text. */
    pieces?: Array<string> | null;
    /** The id or ARN of the guardrail; that of the request if not given. */
    guardrail_id?: string;
    /** Its version. Default: "DRAFT". */
    version?: string;
    /** What is said of the input, a GuardrailAssessment. */
    input_assessment?: Record<string, any> | null;
    /** TokenUsage. */
    usage?: Record<string, any> | null;
    /** ConverseMetrics. */
    metrics?: Record<string, any> | null;
  } | string;
} & Modifiers;

/** 500 InternalServerException, which clients retry. */
export type InternalServerErrorReply = {
  /** What it says: true for the usual wording. */
  internal_server_error: {
    /** What it says. */
    message?: string | null;
  } | true | string;
} & Modifiers;

/** 400 ValidationException as recorded for an unknown model id. */
export type InvalidModelIdReply = {
  /** Nothing more can be said of it: true. */
  invalid_model_id: true | Record<string, never>;
} & Modifiers;

/** 403 InvalidSignatureException of the gateway: a slow clock. */
export type InvalidSignatureReply = {
  /** What it says: true for the usual wording. */
  invalid_signature: {
    /** What it says. */
    message?: string | null;
  } | true | string;
} & Modifiers;

/** 424 ModelErrorException: the model itself failed. */
export type ModelErrorReply = {
  /** What it says: true for the usual wording. */
  model_error: {
    /** What it says. */
    message?: string | null;
    /** The status that the model gave. */
    original_status_code?: number | null;
    /** The resource that failed. */
    resource_name?: string | null;
  } | true | string;
} & Modifiers;

/** 429 ModelNotReadyException, which clients retry: the model is being loaded. */
export type ModelNotReadyReply = {
  /** What it says: true for the usual wording. */
  model_not_ready: {
    /** What it says. */
    message?: string | null;
  } | true | string;
} & Modifiers;

/** 408 ModelTimeoutException. */
export type ModelTimeoutReply = {
  /** What it says: true for the usual wording. */
  model_timeout: {
    /** What it says. */
    message?: string | null;
  } | true | string;
} & Modifiers;

/** No answer: the client waits in vain. */
export type ReadTimeoutReply = {
  /** Nothing more can be said of it: true. */
  read_timeout: true | Record<string, never>;
} & Modifiers;

/** 404 ResourceNotFoundException: the model is gone. */
export type ResourceNotFoundReply = {
  /** What it says: true for the usual wording. */
  resource_not_found: {
    /** What it says. */
    message?: string | null;
  } | true | string;
} & Modifiers;

/** 503 ServiceUnavailableException, which clients retry. */
export type ServiceUnavailableReply = {
  /** What it says: true for the usual wording. */
  service_unavailable: {
    /** What it says. */
    message?: string | null;
  } | true | string;
} & Modifiers;

/** 429 ThrottlingException, which clients retry. */
export type ThrottledReply = {
  /** What it says: true for the usual wording. */
  throttled: {
    /** What it says. */
    message?: string | null;
    /** The name of what it says: there was too much of this. */
    wording?: null | "requests" | "tokens" | "tokens_per_day";
  } | true | string;
} & Modifiers;

/** One toolUse block, with stop reason tool_use. */
export type ToolUseReply = {
  /** The tool; its name alone where it needs no input. */
  tool_use: {
    /** The name of the tool. */
    name: string;
    /** The arguments. */
    input?: Record<string, any>;
    /** A text block before it. */
    text?: string | null;
    /** The toolUseId; of the recorded form if not given. */
    id?: string | null;
    /** The exact deltas of the input's JSON. */
    pieces?: Array<string> | null;
    /** The stop reason, one of AWS's StopReason; tool_use if not given. */
    stop_reason?: string | null;
    /** TokenUsage; what it leaves out is estimated. */
    usage?: Record<string, any> | null;
    /** Whether the name must be one that a request may have; models invent others. Default: true. */
    strict?: boolean;
  } | string;
} & Modifiers;

/** Status 200, but no answer: what Bedrock sends for a wrong path. */
export type UnknownOperationReply = {
  /** Nothing more can be said of it: true. */
  unknown_operation: true | Record<string, never>;
} & Modifiers;

/** 403 UnrecognizedClientException of the gateway: unknown keys. */
export type UnrecognizedClientReply = {
  /** What it says: true for the usual wording. */
  unrecognized_client: {
    /** What it says. */
    message?: string | null;
  } | true | string;
} & Modifiers;

/** 400 ValidationException: the request is wrong. */
export type ValidationErrorReply = {
  /** What it says. */
  validation_error: {
    /** What it says. */
    message: string;
  } | string;
} & Modifiers;

/**
 * An answer that is computed from the call: each offered tool once, with input that its schema allows, then a text. Of
 * the members that change a reply it takes `times` alone.
 */
export type ImprovisedReply = {
  /** How it is computed; true for all tools, one in each answer. */
  improvised: {
    /** Another number gives other values. Default: 0. */
    seed?: number;
    /** The names of the tools to use, or all. Default: "all". */
    tools?: Array<string> | "all";
    /** The maximum number of tools in one answer. Default: 1. */
    at_once?: number;
  } | true;
  /** For how many calls in a row it is. Default: 1. */
  times?: number;
  /** It may stay unused: closing the fake does not report it. */
  optional?: Record<string, never> | true;
};

/** Answer InvokeModel with vectors, as the embedding models of Amazon Titan and Cohere do. */
export type EmbeddingReply = {
  /** Its arguments. */
  embedding: {
    /** Answer InvokeModel with vectors, as the embedding models of Amazon Titan and Cohere do. */
    of?: string | number;
    /**
     * `dimensions` is how many numbers a vector has: by default, what the request asks for, otherwise what the model
     * has by default.
     */
    dimensions?: number | null;
  } | true | string;
} & Modifiers;

/** The first reply of a named situation; `converse-harness cases --json` lists them all. */
export type CaseReply = {
  /** The name of a case of the catalogue. */
  case: string;
} & Modifiers;

/** What any reply may have beside it; carried out in this order. */
export type Modifiers = {
  /** For how many calls in a row it is. Default: 1. */
  times?: number;
  /** It may stay unused: closing the fake does not report it. */
  optional?: Record<string, never> | true;
  /** How long the client of an error should wait: the headers retry-after and retry-after-ms. */
  retry_after?: {
    /** Whole seconds. */
    seconds?: number | null;
    /** Whole milliseconds. */
    ms?: number | null;
  } | number;
  /**
   * An exception frame in the place of an event, which ends the stream; on plain Converse the HTTP error of that type.
   * Further members are those of the exception's shape.
   */
  fails_after?: {
    /** After how many events. */
    events: number;
    /** A member of ConverseStreamOutput; any name without `strict`. */
    exception: string;
    /** What it says; a usual wording if not given. */
    message?: string | null;
    /** Whether the exception must be in AWS's model. Default: true. */
    strict?: boolean;
  } & Record<string, any>;
  /**
   * An unmodelled error frame in the place of an event, which ends the stream; on plain Converse an HTTP error 500 of
   * that name.
   */
  error_frame_after?: {
    /** After how many events. */
    events: number;
    /** Its name. Default: "InternalFailure". */
    code?: string;
    /** What it says; a usual wording if not given. */
    message?: string | null;
  } | number;
  /** Real pauses, in seconds. */
  paced?: {
    /** Before the first event. Default: 0. */
    first?: number;
    /** Before every later one. Default: 0. */
    each?: number;
  } | true;
  /** A breach of the protocol; its name alone to have it half-way. */
  broken?: {
    fault: Fault;
    /** After how many events, or at which one; in the middle if not given. */
    after?: number | null;
  } | Fault;
};

/** A fault by its name; one that lasts, with its seconds. */
export type Fault = "no_message_start" | "second_message_start" | "no_message_stop" | "second_message_stop" | "message_stop_in_block" | "no_metadata" | "second_metadata" | "metadata_early" | "cut_off" | "cut_in_tool_input" | "no_block_start" | "second_block_start" | "no_block_stop" | "second_block_stop" | "block_without_delta" | "blocks_interleaved" | "index_skipped" | "index_repeated" | "index_of_another_block" | "no_index" | "delta_after_block" | "text_in_tool_use" | "tool_input_in_text" | "citation_after_text" | "reasoning_after_signature" | "reasoning_after_redacted" | "event_after_exception" | "unknown_event" | "start_without_member" | "delta_without_member" | "delta_of_two_members" | "reasoning_without_member" | "bad_crc" | "bad_prelude_crc" | "truncated_frame" | "cut_in_prelude" | "cut_in_headers" | "garbage_after_end" | "one_byte_chunks" | "one_chunk" | "empty_200" | "json_for_stream" | "wrong_content_length" | "reset" | "closed" | "stall" | "slow_first_byte" | "stale_connection" | "read_timeout" | {
  /** Its name. */
  name: "stall" | "slow_first_byte";
  /** Seconds. */
  lasting: number;
};

/** A fake that is open. */
export type OpenedFake = {
  /** Its name in the paths of this API. */
  id: string;
  /** The endpoint URL for the client. */
  url: string;
  environ: Environ;
};

/** Variables by which AWS's SDKs, the AI SDK and litellm find it, with dummy keys and a region. */
export type Environ = {
  /** The URL of the fake, for the AWS SDKs and the AI SDK. */
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME: string;
  /** A dummy key. */
  AWS_ACCESS_KEY_ID: string;
  /** A dummy secret. */
  AWS_SECRET_ACCESS_KEY: string;
  /** A region. */
  AWS_REGION: string;
} & Record<string, string>;

/** A fake that is open, and how far it is. */
export type FakeState = {
  /** Its name in the paths of this API. */
  id: string;
  /** The endpoint URL for the client. */
  url: string;
  environ: Environ;
  /** How many calls came in, of every operation. */
  calls: number;
  /** How many of them were let go, the first ones, because the fake keeps only so many (`keep_calls`). */
  dropped: number;
  /** What is scripted, in the order in which it is tried. */
  script: Array<{
    /** It in a few words, after its condition. */
    reply: string;
    /** Which calls used it. */
    state: string;
  }>;
  unused: Unused;
  problems: Problems;
  notes: Notes;
};

/** The open fakes. */
export type FakeList = {
  /** Their states, oldest first. */
  fakes: Array<FakeState>;
};

/** The replies that were due and were not used as often as was said, each in a few words. */
export type Unused = Array<string>;

/** What must fail the test if it ended now, each as a whole message. */
export type Problems = Array<string>;

/**
 * What is worth saying and fails no test, the first of each kind: that Bedrock may refuse a request, for instance, or
 * would where `rules` is `warn`.
 */
export type Notes = Array<string>;

/** What a fake says at its end. */
export type ClosedFake = {
  /** Whether nothing must fail the test. */
  ok: boolean;
  unused: Unused;
  problems: Problems;
  notes: Notes;
};

/** The calls to a fake. */
export type CallList = {
  /** In the order in which they came in; each attempt of a retried one separately. */
  calls: Array<Call>;
  /** Give it as `after` to get the calls that follow; null where there are no more yet. */
  next: number | null;
  /** How many calls came in, of every operation. */
  received: number;
  /** How many of them were let go, the first ones, because the fake keeps only so many (`keep_calls`). */
  dropped: number;
};

/** One request to the fake and what was answered. */
export type Call = {
  /** From 1. */
  number: number;
  /** The AWS operation; null where the path is none of Bedrock's. */
  operation: string | null;
  /** The Bedrock service that has the operation, by its name in botocore. */
  service: string;
  /** The model id, decoded; empty where there is none. */
  modelId: string;
  /** Which attempt of the client's own retries, from 1. */
  attempt: number;
  /** Which of the model's answers in the conversation is asked for, from 1. */
  turn: number;
  /** The HTTP method. */
  method: string;
  /** The raw path below the fake's URL, with the query. */
  target: string;
  /** The messages as they came, blobs in base64. */
  messages: Array<Record<string, any>>;
  /** The system blocks as they came. */
  system: Array<Record<string, any>>;
  /** The names of the tools that were offered. */
  toolNames: Array<string>;
  /** The tool results of the last message as they came, such as `{"toolUseId": "...", "content": [{"text": "18 °C"}]}`. */
  toolResults: Array<Record<string, any>>;
  /** The text of the last user message that has any; empty if there is none. */
  lastUserText: string;
  /** The JSON object of the request; empty where there is none, or one of more than 100 levels. */
  body: Record<string, any>;
  /** Why the body is no request; null where it is one. */
  malformed: string | null;
  /** The request headers by lower-case name; secrets are masked. */
  headers: Record<string, string>;
  /** The HTTP status that was answered; 0 for none. */
  status: number;
  /** The reply that was used, in a few words. */
  reply: string | null;
  /** The events that the client took. */
  events: Array<{
    /** Seconds since the request arrived. */
    at: number;
    /** The event, blobs in base64. */
    event: Record<string, any>;
  }>;
  /** How the answer ended. */
  outcome: "still running" | "complete" | "closed by client" | "cut";
};

/** An error in AWS's shape. */
export type Error = {
  /** What came, what is allowed, what to do. */
  message: string;
};
