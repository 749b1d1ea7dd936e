// Asks once with the AI SDK as it was released: `node check_javascript.mjs NAME`, and prints what it hands out as JSON.
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { generateText, jsonSchema, streamText, tool } from "ai";

const MODEL = "us.anthropic.claude-sonnet-4-20250514-v1:0";
const model = createAmazonBedrock({ baseURL: process.env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME })(MODEL);
const tools = { read_file: tool({ description: "Read a file.", inputSchema: jsonSchema({ type: "object" }) }) };

function used(toolName, input) {
  const call = { type: "tool-call", toolCallId: "t1", toolName, input };
  const output = { type: "text", value: "There is no such tool." };
  return [
    { role: "user", content: "Read it." },
    { role: "assistant", content: [call] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "t1", toolName, output }] },
  ];
}

function withFile(filename) {
  const data = Buffer.from("The year was a good one.");
  const file = { type: "file", data, mediaType: "text/plain", filename };
  return [{ role: "user", content: [{ type: "text", text: "What does it say?" }, file] }];
}

async function whole(call) {
  const { text, finishReason } = await generateText({ model, maxRetries: 0, ...call });
  return { text, finishReason, errors: [] };
}

async function streamed(call) {
  const result = { text: "", finishReason: null, errors: [] };
  try {
    for await (const part of streamText({ model, maxRetries: 0, onError: () => {}, ...call }).fullStream) {
      if (part.type === "text-delta") result.text += part.text;
      if (part.type === "error") result.errors.push(part.error.message ?? String(part.error));
      if (part.type === "finish") result.finishReason = part.finishReason;
    }
  } catch (error) {
    result.errors.push(error.message);
  }
  return result;
}

const CHECKS = {
  question: () => whole({ prompt: "Hello?" }),
  "streamed question": () => streamed({ prompt: "Hello?" }),
  "name of a tool": () => whole({ messages: used("$READFILE", {}), tools }),
  "input of a tool": () => whole({ messages: used("read_file", '{"path": "/etc'), tools }),
  "name of a file": () => whole({ messages: withFile("year.2025.txt") }),
  "name of another file": () => whole({ messages: withFile("R&D.txt") }),
};

console.log(JSON.stringify(await CHECKS[process.argv[2]]()));
