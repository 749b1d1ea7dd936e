// aimock with one story: `node aimock.mjs DELTAS MILLISECONDS` prints its URL and ends with its standard input.
import { LLMock } from "@copilotkit/aimock";

const [deltas, latency] = process.argv.slice(2).map(Number);
const words = Array.from({ length: deltas }, (_, number) => ` word${String(number).padStart(3, "0")}`);
const mock = new LLMock({ port: 0, chunkSize: 8, latency, logLevel: "silent" });
mock.onMessage(/.*/, { content: words.join("") });
await mock.start();
console.log(mock.url);
process.stdin.resume().on("end", () => process.exit());
