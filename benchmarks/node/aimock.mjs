// aimock with one story: `node aimock.mjs DELTAS MILLISECONDS` prints its URL, answers each line of its
// standard input with the CPU seconds that it has used, and ends with it.
import { LLMock } from "@copilotkit/aimock";

const [deltas, latency] = process.argv.slice(2).map(Number);
const words = Array.from({ length: deltas }, (_, number) => ` word${String(number).padStart(3, "0")}`);
const mock = new LLMock({ port: 0, chunkSize: 8, latency, logLevel: "silent" });
mock.onMessage(/.*/, { content: words.join("") });
await mock.start();
console.log(mock.url);
process.stdin
  .on("data", (lines) => {
    const { user, system } = process.cpuUsage();
    for (let line = 0; line < lines.length; line++) console.log((user + system) / 1e6);
  })
  .on("end", () => process.exit());
