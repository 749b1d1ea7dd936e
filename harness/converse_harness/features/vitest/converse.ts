// A fake Amazon Bedrock for each test, on one server of converse-harness. `converse-harness init vitest` wrote this file;
// it is yours to change. It needs Node.js 20 or newer and the command `converse-harness` of Python's package of that name.
//
//   test("answers", async (t) => {
//     const fake = await fakeBedrock(t, { script: [{ text: "18 °C and sunny." }] });
//     const client = new BedrockRuntimeClient(fake.config);
//     ...
//     expect((await fake.calls())[0].lastUserText).toBe("What is it like in Zürich?");
//   });
//
// When the test ends, the fake closes, and its problems fail the test: unused replies, calls that no reply answers,
// requests that Bedrock would refuse. Tests that run at the same time have fakes of their own (describe.concurrent).
// The file imports nothing of vitest: a test of node:test gives its own `t` in the same way.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Call, CallList, ClosedFake, MoreReplies, NewFake, OpenedFake } from "./converse-api.js";

export type { Call, MoreReplies, NewFake, Reply } from "./converse-api.js";

/** The part of a test's context that this file needs: `onTestFinished` is vitest's, `after` is that of node:test. */
export interface TestOfFake {
  onTestFinished?(close: () => Promise<void>): void;
  after?(close: () => Promise<void>): void;
  readonly task?: { readonly result?: { readonly state?: string } };
}

/** Open a fake for a test, with its script and settings. It closes, and is checked, when the test ends. */
export function fakeBedrock(t: TestOfFake, body: NewFake = {}): Promise<Fake> {
  const place = here(fakeBedrock);
  const opening = isTest(t) ? open(t, body, place) : Promise.reject(at(place, NO_TEST));
  for (const name of ["config", "url", "environ", "script", "calls", "close"]) {
    const get = () => {
      throw at(here(get), `await fakeBedrock(...) first: ${name} is a member of the fake, not of its promise.`);
    };
    Object.defineProperty(opening, name, { get });
  }
  return opening;
}

const NO_TEST =
  "fakeBedrock(t, body): the first argument is the test's context; it has neither onTestFinished nor after. " +
  "Without a test give {} and call fake.close().";

/** Whether a value is a test's context, or the {} in place of one. */
function isTest(t: unknown): boolean {
  if ((typeof t !== "object" && typeof t !== "function") || t === null) return false;
  return "onTestFinished" in t || "after" in t || Object.keys(t).length === 0;
}

async function open(t: TestOfFake, body: NewFake, place: Error): Promise<Fake> {
  const fake = new Fake((await control("POST", "", body, place)) as OpenedFake, place);
  const close = () => fake.close({ failed: t.task?.result?.state === "fail" });
  if (t.onTestFinished) t.onTestFinished(close);
  else t.after?.(close);
  return fake;
}

/** An open fake of Amazon Bedrock, with a URL of its own. */
export class Fake {
  readonly id: string;
  /** The endpoint: for the AWS SDK `endpoint`, for the AI SDK `baseURL`. */
  readonly url: string;
  /** The environment variables by which a child process finds the fake. */
  readonly environ: OpenedFake["environ"];
  readonly #place: Error;
  #closed = false;

  constructor(opened: OpenedFake, place: Error) {
    this.id = opened.id;
    this.url = opened.url;
    this.environ = opened.environ;
    this.#place = place;
  }

  /** The configuration of a client of the AWS SDK: `new BedrockRuntimeClient(fake.config)`. */
  get config() {
    return {
      endpoint: this.url,
      region: this.environ.AWS_REGION,
      credentials: {
        accessKeyId: this.environ.AWS_ACCESS_KEY_ID,
        secretAccessKey: this.environ.AWS_SECRET_ACCESS_KEY,
      },
      retryStrategy: withoutWaits(),
    };
  }

  /** Add replies to the script. */
  async script(more: MoreReplies): Promise<void> {
    await control("POST", `/${this.id}/script`, more, here(this.script));
  }

  /** The calls so far; each attempt of a client is a call of its own. */
  async calls(): Promise<Call[]> {
    const place = here(this.calls);
    const calls: Call[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const page = (await control("GET", `/${this.id}/calls?after=${after}`, undefined, place)) as CallList;
      calls.push(...page.calls);
      after = page.next;
    }
    return calls;
  }

  /**
   * Close the fake, print its notes, and throw its problems, once. Of a test that `failed` already, unused replies are no
   * problem.
   */
  async close({ failed = false } = {}): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const closed = (await control("DELETE", `/${this.id}?failed=${failed}`, undefined, this.#place)) as ClosedFake;
    for (const note of closed.notes) console.warn(note);
    if (!closed.ok) throw at(this.#place, closed.problems.join("\n\n"));
  }
}

/**
 * The retry strategy of the AWS SDK's standard mode, without its waits: for `retryStrategy` of a client. A client whose
 * `maxAttempts` differs from the SDK's default needs the number here as well.
 */
export function withoutWaits(maxAttempts = Number(process.env["AWS_MAX_ATTEMPTS"]) || 3) {
  const token = (count: number) => ({
    getRetryCount: () => count,
    getRetryDelay: () => 0,
    getRetryCost: () => undefined,
  });
  return {
    acquireInitialRetryToken: async () => token(0),
    refreshRetryTokenForRetry: async (last: { getRetryCount(): number }, error: { errorType: string }) => {
      const attempts = last.getRetryCount() + 1;
      const retryable = error.errorType === "THROTTLING" || error.errorType === "TRANSIENT";
      if (!retryable || attempts >= maxAttempts) throw new Error("No retry token available");
      return token(attempts);
    },
    recordSuccess: () => {},
  };
}

// One server for the run, or else one for each process: `globalSetup: ["./converse.ts"]` in vitest.config.ts calls
// setup and teardown. CONVERSE_HARNESS_URL is the URL of a server that runs already.

const URL_OF_SERVER = "CONVERSE_HARNESS_URL";

let own: Promise<Server> | undefined;

interface Server {
  readonly url: string;
  stop(): void;
}

export async function setup(): Promise<void> {
  process.env[URL_OF_SERVER] ||= (await (own ??= start())).url;
}

export async function teardown(): Promise<void> {
  if (!own) return;
  delete process.env[URL_OF_SERVER];
  (await own.catch(() => undefined))?.stop();
  own = undefined;
}

const COMMAND = "CONVERSE_HARNESS";
const INSTALL =
  "Install it: pip install 'converse-harness[server]'. " +
  `Of a virtual environment: set ${COMMAND}=.venv/bin/converse-harness.`;

/** Why the command cannot be run, and what to do. */
function notRun(command: string, error: NodeJS.ErrnoException): string {
  if (!process.env[COMMAND]) return `${error.message}. ${INSTALL}`;
  const why = error.code === "ENOENT" ? `there is no such file or command (${error.message})` : error.message;
  const what = `It is the path of the command, without arguments, from ${process.cwd()}.`;
  return `${COMMAND} is set to ${command}, and ${why}. ${what}`;
}

/** Start a server. It ends with this process, however that ends, because its input closes. */
async function start(): Promise<Server> {
  const command = process.env[COMMAND] || "converse-harness";
  const folder = await mkdtemp(join(tmpdir(), "converse-"));
  try {
    return await startIn(folder, command);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function startIn(folder: string, command: string): Promise<Server> {
  const file = join(folder, "ready.json");
  const child = spawn(command, ["serve", "--until-stdin-closes", "--ready-file", file], {
    stdio: ["pipe", "ignore", "pipe"],
  });
  let problem: string | undefined;
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  child.on("error", (error) => (problem = notRun(command, error)));
  child.on("close", (code) => (problem ??= `it ended with ${code}. ${said}`));
  for (;;) {
    const ready = await readFile(file, "utf8").catch(() => undefined);
    if (ready !== undefined) {
      for (const handle of [child, child.stdin, child.stderr]) (handle as { unref?(): void }).unref?.();
      return { url: JSON.parse(ready).url as string, stop: () => child.stdin.end() };
    }
    if (problem !== undefined) throw new Error(`${command} serve did not start: ${problem}`);
    await sleep(20);
  }
}

async function control(method: string, path: string, body: unknown, place: Error): Promise<unknown> {
  const url = process.env[URL_OF_SERVER] || (await (own ??= start())).url;
  let response: Response;
  let answer: { message?: string };
  try {
    response = await fetch(`${url}/__converse/fakes${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    answer = (await response.json()) as { message?: string };
  } catch (error) {
    const why = error instanceof Error ? (error.cause ?? error) : error;
    throw at(place, `no converse-harness answers at ${url}: ${why}. Start one, or unset ${URL_OF_SERVER}.`);
  }
  if (!response.ok) throw at(place, String(answer.message));
  return answer;
}

/** The line of the test that calls this function. */
function here(called: (...given: never[]) => unknown): Error {
  const place = new Error();
  Error.captureStackTrace(place, called);
  return place;
}

/** An error that points to a line of the test: of the call that fails, or of the one that opened the fake. */
function at(place: Error, message: string): Error {
  const error = new Error(message);
  error.stack = `Error: ${message}\n${place.stack?.split("\n").slice(1).join("\n") ?? ""}`;
  return error;
}
