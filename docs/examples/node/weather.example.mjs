// A test of an agent in JavaScript, against `converse-harness serve`. Run it with:
//
//   converse-harness serve --port 43117 &
//   node --test weather.example.mjs

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BedrockRuntimeClient, ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";

const API = `${process.env.CONVERSE_HARNESS_URL ?? "http://127.0.0.1:43117"}/__converse/fakes`;

// The agent under test: it asks the model, runs the tools that the model wants, and asks again.

const tools = { get_weather: ({ city }) => `18 °C, sunny in ${city}` };

async function weatherAgent(client, question) {
  const messages = [{ role: "user", content: [{ text: question }] }];
  const toolConfig = { tools: [{ toolSpec: { name: "get_weather", inputSchema: { json: { type: "object" } } } }] };
  for (;;) {
    const { stream } = await client.send(
      new ConverseStreamCommand({ modelId: "us.amazon.nova-lite-v1:0", messages, toolConfig }),
    );
    let [text, tool, input] = ["", undefined, ""];
    for await (const event of stream) {
      tool = event.contentBlockStart?.start?.toolUse ?? tool;
      text += event.contentBlockDelta?.delta?.text ?? "";
      input += event.contentBlockDelta?.delta?.toolUse?.input ?? "";
    }
    if (!tool) return text;
    const toolUse = { toolUseId: tool.toolUseId, name: tool.name, input: JSON.parse(input || "{}") };
    const result = { toolUseId: tool.toolUseId, content: [{ text: tools[tool.name](toolUse.input) }] };
    messages.push({ role: "assistant", content: [{ toolUse }] }, { role: "user", content: [{ toolResult: result }] });
  }
}

// What a project needs once: a fake and a client for each test, and a failure for what the script did not expect.

async function control(method, path = "", body = undefined) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(API + path, { method, headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  assert.ok(response.ok, answer.message);
  return answer;
}

async function fakeBedrock(t, ...replies) {
  const { id, url, environ } = await control("POST", "", { script: replies });
  const credentials = { accessKeyId: environ.AWS_ACCESS_KEY_ID, secretAccessKey: environ.AWS_SECRET_ACCESS_KEY };
  const client = new BedrockRuntimeClient({ endpoint: url, region: environ.AWS_REGION, credentials });
  t.after(async () => {
    client.destroy();
    const { ok, problems } = await control("DELETE", `/${id}`);
    assert.ok(ok, problems.join("\n\n"));
  });
  return { client, calls: async () => (await control("GET", `/${id}/calls`)).calls };
}

// The tests. They run at the same time.

describe("the weather agent", { concurrency: true }, () => {
  test("looks up the weather", async (t) => {
    const use = { tool_use: { name: "get_weather", input: { city: "Zürich" } } };
    const { client, calls } = await fakeBedrock(t, use, { text: "18 °C and sunny." });
    assert.match(await weatherAgent(client, "What is it like in Zürich?"), /18/);
    const [ask, answer] = await calls();
    assert.deepEqual(ask.toolNames, ["get_weather"]);
    assert.deepEqual(answer.messages[2].content[0].toolResult.content, [{ text: "18 °C, sunny in Zürich" }]);
  });

  test("survives throttling", async (t) => {
    const { client, calls } = await fakeBedrock(t, { throttled: true }, { text: "ok" });
    assert.equal(await weatherAgent(client, "hi"), "ok");
    assert.deepEqual((await calls()).map((call) => call.status), [429, 200]);
  });

  test("says so when the stream breaks", async (t) => {
    const { client } = await fakeBedrock(t, { text: "The answer is forty-two.", broken: { fault: "reset", after: 3 } });
    await assert.rejects(weatherAgent(client, "What is the answer?"));
  });
});
