// Asks operations of any Bedrock service with the AWS SDK. One JSON request a line comes in on standard input, and one
// JSON answer a line goes out: {"output", "events", "error"}. A blob is {"$blob": base64}, a time is {"$time": text}.
import { createInterface } from "node:readline";
import { NodeHttp2Handler, NodeHttpHandler } from "@smithy/node-http-handler";

const HANDLERS = { "http/1.1": () => new NodeHttpHandler(), h2: () => new NodeHttp2Handler() };

function toJson(value) {
  if (value instanceof Uint8Array) return { $blob: Buffer.from(value).toString("base64") };
  if (value instanceof Date) return { $time: value.toISOString() };
  if (Array.isArray(value)) return value.map(toJson);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toJson(each)]));
}

function fromJson(value) {
  if (Array.isArray(value)) return value.map(fromJson);
  if (value === null || typeof value !== "object") return value;
  if ("$blob" in value) return Buffer.from(value.$blob, "base64");
  if ("$time" in value) return new Date(value.$time);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fromJson(each)]));
}

async function asked({ service, operation, params, url, protocol }) {
  const sdk = await import(`@aws-sdk/client-${service}`);
  const [Client] = Object.entries(sdk).find(([name]) => /^Bedrock\w*Client$/.test(name)).slice(1);
  const options = { endpoint: url, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } };
  const client = new Client({ ...options, maxAttempts: 1, ...(protocol ? { requestHandler: HANDLERS[protocol]() } : {}) });
  const answer = { output: {}, events: [], error: null, protocol: client.config.requestHandler.metadata.handlerProtocol };
  try {
    const { $metadata, ...output } = await client.send(new sdk[`${operation}Command`](fromJson(params)));
    answer.status = $metadata.httpStatusCode;
    for (const [name, value] of Object.entries(output)) {
      if (value?.[Symbol.asyncIterator] && !value.transformToByteArray) {
        for await (const event of value) answer.events.push(toJson(event));
      } else {
        answer.output[name] = toJson(value?.transformToByteArray ? await value.transformToByteArray() : value);
      }
    }
  } catch (error) {
    const isOwn = Boolean(sdk[error.name] && error instanceof sdk[error.name]);
    const { name, message, $fault: fault } = error;
    answer.error = { name, message, fault, isOwn, status: error.$metadata?.httpStatusCode };
  } finally {
    client.destroy();
  }
  return answer;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await asked(JSON.parse(line)))}\n`);
}
