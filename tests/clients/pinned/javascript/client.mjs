// Asks as unchanged JavaScript clients ask. One JSON request a line comes in on standard input; for each, lines go out on
// standard output: {"piece": text} as soon as the client has one, and at the end {"result": {...}} in neutral words. A
// request with `patience`, in milliseconds, is answered with what the client handed out, as it is: {"handedOut": {...}}.
import { createInterface } from "node:readline";
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { generateText, jsonSchema, streamText, tool } from "ai";

const CONNECTION = "connection";

// What Node, undici and the SDK call a connection that broke, by code or by the error's message.
const BROKEN = new Set([
  "ECONNRESET",
  "ERR_HTTP2_STREAM_ERROR",
  "ERR_HTTP2_SESSION_ERROR",
  "ERR_STREAM_PREMATURE_CLOSE",
  "UND_ERR_SOCKET",
]);

// The AI SDK reads the HTTP status of an error and its message, not its name.
const ERROR_OF_STATUS = { 400: "ValidationException", 424: "ModelErrorException", 429: "ThrottlingException" };

// Its words for the stop reasons of the AWS API.
const STOP_OF_FINISH = { stop: "end_turn", "tool-calls": "tool_use", length: "max_tokens" };

const empty = () => ({ text: "", reasoning: "", tools: [], stop: null, usage: null, error: null, said: "" });
const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// Where fetch finds a connection broken it throws a TypeError with the cause; only the message tells it from others.
function nameOf(error) {
  if (error instanceof TypeError && error.cause) return `TypeError: ${error.message}`;
  return error.name ?? "an error without a name";
}

function failed(error) {
  const causes = [];
  for (let cause = error; cause; cause = cause.cause) causes.push(cause);
  const said = causes.map((cause) => `${cause.name} ${cause.code ?? ""} ${cause.message}`).join("; ");
  if (error.$fault) return { error: error.name, said };
  if (error.statusCode && ERROR_OF_STATUS[error.statusCode]) return { error: ERROR_OF_STATUS[error.statusCode], said };
  if (causes.some((cause) => BROKEN.has(cause.code) || cause.name === "TimeoutError")) return { error: CONNECTION, said };
  return { error: nameOf(error), said };
}

// @aws-sdk/client-bedrock-runtime

async function withAwsSdk(options, { operation, request, leaveAt }) {
  const result = empty();
  const client = new BedrockRuntimeClient(options);
  const leaving = new AbortController();
  const hold = { abortSignal: leaving.signal };
  try {
    if (operation === "Converse") {
      const answer = await client.send(new ConverseCommand(request), hold);
      for (const block of answer.output.message.content) {
        result.text += block.text ?? "";
        result.reasoning += block.reasoningContent?.reasoningText.text ?? "";
        if (block.toolUse) result.tools.push([block.toolUse.name, block.toolUse.input]);
      }
      result.stop = answer.stopReason;
      result.usage = [answer.usage.inputTokens, answer.usage.outputTokens];
      return result;
    }
    const inputs = new Map();
    const answer = await client.send(new ConverseStreamCommand(request), hold);
    for await (const event of answer.stream) {
      const { contentBlockIndex: index, start, delta } = event.contentBlockStart ?? event.contentBlockDelta ?? {};
      if (start?.toolUse) inputs.set(index, [start.toolUse.name, ""]);
      if (delta?.toolUse) inputs.get(index)[1] += delta.toolUse.input;
      result.reasoning += delta?.reasoningContent?.text ?? "";
      if (delta?.text) {
        result.text += delta.text;
        tell({ piece: delta.text });
      }
      if (leaveAt !== null && result.text === leaveAt) {
        leaving.abort();
        break;
      }
      if (event.messageStop) result.stop = event.messageStop.stopReason;
      if (event.metadata) result.usage = [event.metadata.usage.inputTokens, event.metadata.usage.outputTokens];
    }
    result.tools = [...inputs.values()].map(([name, text]) => [name, JSON.parse(text)]);
  } catch (error) {
    Object.assign(result, failed(error));
  } finally {
    client.destroy();
  }
  result.protocol = client.config.requestHandler.metadata.handlerProtocol;
  return result;
}

// As JSON: bytes in base64, and a member of a union that is not in the model as botocore tells of it.
function plain(key, value) {
  if (key === "$unknown") return undefined;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value?.$unknown)) return { SDK_UNKNOWN_MEMBER: { name: value.$unknown[0] } };
  return value;
}

async function handedOutByAwsSdk(options, { operation, request }) {
  const given = { events: [], answer: null, error: null, name: null, said: "" };
  const client = new BedrockRuntimeClient(options);
  const { retryBackoffStrategy } = await client.config.retryStrategy();
  retryBackoffStrategy.computeNextBackoffDelay = () => 0; // it asks as often as it does, and nobody waits
  try {
    if (operation === "Converse") given.answer = await client.send(new ConverseCommand(request));
    else for await (const event of (await client.send(new ConverseStreamCommand(request))).stream) given.events.push(event);
  } catch (error) {
    Object.assign(given, { name: nameOf(error) }, failed(error));
  } finally {
    client.destroy();
  }
  return JSON.parse(JSON.stringify(given, plain));
}

// @ai-sdk/amazon-bedrock

function asCall(request, settings = {}) {
  const { name, description, inputSchema } = request.toolConfig.tools[0].toolSpec;
  return {
    model: createAmazonBedrock(settings)(request.modelId),
    prompt: request.messages[0].content[0].text,
    tools: { [name]: tool({ description, inputSchema: jsonSchema(inputSchema.json) }) },
  };
}

async function withAiSdk({ operation, request, leaveAt }) {
  const result = empty();
  const leaving = new AbortController();
  const call = { ...asCall(request), maxRetries: 0, abortSignal: leaving.signal };
  const finish = ({ finishReason, totalUsage }) => {
    result.stop = STOP_OF_FINISH[finishReason] ?? finishReason;
    result.usage = [totalUsage.inputTokens ?? null, totalUsage.outputTokens ?? null];
  };
  try {
    if (operation === "Converse") {
      const answer = await generateText(call);
      result.text = answer.text;
      result.reasoning = answer.reasoningText ?? "";
      result.tools = answer.toolCalls.map((use) => [use.toolName, use.input]);
      finish(answer);
      return result;
    }
    for await (const part of streamText({ ...call, onError: () => {} }).fullStream) {
      if (part.type === "text-delta") {
        result.text += part.text;
        tell({ piece: part.text });
        if (leaveAt !== null && result.text === leaveAt) {
          leaving.abort();
          break;
        }
      }
      if (part.type === "reasoning-delta") result.reasoning += part.text;
      if (part.type === "tool-call") result.tools.push([part.toolName, part.input]);
      if (part.type === "error") Object.assign(result, failed(part.error));
      if (part.type === "finish") finish(part);
    }
  } catch (error) {
    Object.assign(result, failed(error));
  }
  return result;
}

// It waits for seconds before it asks again, unless an answer says how long. So it asks as often, and nobody waits.
async function hurried(...call) {
  const answer = await fetch(...call);
  const headers = new Headers(answer.headers);
  headers.set("retry-after-ms", "0");
  return Object.defineProperty(answer, "headers", { value: headers });
}

async function handedOutByAiSdk({ operation, request, patience }) {
  const given = { parts: [], error: null, name: null, said: "" };
  const call = { ...asCall(request, { fetch: hurried }), timeout: patience };
  try {
    if (operation === "Converse") {
      const { content, finishReason } = await generateText(call);
      given.parts.push(...content, { type: "finish", finishReason });
    } else {
      for await (const part of streamText({ ...call, onError: () => {} }).fullStream) {
        given.parts.push(part.type === "error" ? { type: "error", name: nameOf(part.error), ...failed(part.error) } : part);
      }
    }
  } catch (error) {
    Object.assign(given, { name: nameOf(error) }, failed(error));
  }
  return given;
}

// As they are, with a time limit: for the AWS SDK with HTTP/2 one for each stream, with HTTP/1.1 one for a socket that is
// silent; for the AI SDK, which has none unless it is given one, one for the whole call.
const HANDED_OUT = {
  "aws-sdk": (order) => handedOutByAwsSdk({ requestHandler: { requestTimeout: order.patience } }, order),
  "aws-sdk with NodeHttpHandler": (order) =>
    handedOutByAwsSdk({ requestHandler: new NodeHttpHandler({ socketTimeout: order.patience }) }, order),
  "ai-sdk": handedOutByAiSdk,
};

const CLIENTS = {
  "aws-sdk": (order) => withAwsSdk({}, order),
  "aws-sdk with NodeHttpHandler": (order) => withAwsSdk({ requestHandler: new NodeHttpHandler() }, order),
  "ai-sdk": withAiSdk,
};

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  for (const [name, value] of Object.entries(order.environ)) {
    if (value === null) delete process.env[name];
    else process.env[name] = value;
  }
  if (order.patience) tell({ handedOut: await HANDED_OUT[order.client](order) });
  else tell({ result: await CLIENTS[order.client](order) });
}
