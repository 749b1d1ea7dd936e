// A tool loop and a question after it, as JavaScript applications hold them: node loop.mjs CLIENT OPERATION QUESTIONS...
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { BedrockRuntimeClient, ConverseCommand } from "@aws-sdk/client-bedrock-runtime";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

const [client, operation, model, ...questions] = process.argv.slice(2);
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = "18 °C and sunny.";

async function withAiSdk() {
  const execute = async () => weather;
  const tools = { get_weather: tool({ description: "The weather.", inputSchema: jsonSchema(schema), execute }) };
  const messages = [];
  for (const content of questions) {
    messages.push({ role: "user", content });
    const call = { model: createAmazonBedrock()(model), messages, tools, stopWhen: stepCountIs(9) };
    if (operation === "Converse") {
      messages.push(...(await generateText(call)).response.messages);
    } else {
      const stream = streamText(call);
      await stream.consumeStream();
      messages.push(...(await stream.response).messages);
    }
  }
}

async function withAwsSdk() {
  const bedrock = new BedrockRuntimeClient();
  const toolConfig = { tools: [{ toolSpec: { name: "get_weather", inputSchema: { json: schema } } }] };
  const messages = [];
  for (const text of questions) {
    let content = [{ text }];
    while (content.length) {
      messages.push({ role: "user", content });
      const answer = await bedrock.send(new ConverseCommand({ modelId: model, messages, toolConfig }));
      messages.push(answer.output.message);
      content = answer.output.message.content
        .filter((block) => block.toolUse)
        .map(({ toolUse }) => ({ toolResult: { toolUseId: toolUse.toolUseId, content: [{ text: weather }] } }));
    }
  }
  bedrock.destroy();
}

await { "ai-sdk": withAiSdk, "aws-sdk": withAwsSdk }[client]();
