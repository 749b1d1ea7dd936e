"""A suite in vitest as docs/javascript.md shows it: run, type-checked, and failing where it must."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from select import select

import pytest

from tests.clients.pinned.javascript.conftest import folder_with_packages

ROOT = Path(__file__).parents[5]
BLOCK = re.compile(r"```(?:ts|text)\n(.*?)```", re.DOTALL)
PAGE = (ROOT / "docs" / "javascript.md").read_text(encoding="utf-8")
BLOCKS = BLOCK.findall(PAGE)
TYPES_OF_PAGE = re.findall(r'"types": \["(\w+)"\]', PAGE)
"""What the page names for tsconfig.json, where TypeScript 7 includes nothing by itself."""
README = [block for block in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")) if "vitest" in block]
SCRIPTS = sysconfig.get_path("scripts")

COUNTED = """\
#!/bin/sh
exec 9> "$0.fifo"
echo started >&9
exec converse-harness "$@"
"""
"""A command that starts a server, and keeps a pipe to the test open as long as the server lives."""


@dataclass(frozen=True)
class Suite:
    """A folder with the packages, in which `converse-harness init vitest` was run."""

    folder: Path
    started: int
    """The end of the pipe from the servers that `counted` starts."""

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def run(self, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        (self.folder / "temporary").mkdir(exist_ok=True)
        path = os.pathsep.join([SCRIPTS, str(self.folder / "node_modules" / ".bin"), os.environ["PATH"]])
        return subprocess.run(
            [str(self.folder / "node_modules" / ".bin" / command[0]), *command[1:]] if "PATH" in environ else command,
            cwd=self.folder,
            env={**os.environ, "PATH": path, "NO_COLOR": "1", "CI": "1", "NODE_NO_WARNINGS": "1", **environ},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def vitest(self, *arguments: str, **environ: str) -> tuple[int, str]:
        done = self.run("vitest", "run", *arguments, **environ)
        return done.returncode, done.stdout + done.stderr

    def starts(self) -> int:
        """How many servers the command `counted` has started since it was asked last, when all of them have ended."""
        said = b""
        while select([self.started], [], [], 60)[0]:
            if not (more := os.read(self.started, 4096)):
                return said.count(b"started")
            said += more
        pytest.fail("a server goes on after the suite has ended")


@pytest.fixture
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    folder = folder_with_packages(tmp_path_factory)
    os.mkfifo(folder / "counted.fifo")
    made = Suite(folder, os.open(folder / "counted.fifo", os.O_RDONLY | os.O_NONBLOCK))
    done = made.run("converse-harness", "init", "vitest")
    assert done.returncode == 0, done.stderr
    made.write("counted", COUNTED)
    (folder / "counted").chmod(0o755)
    yield made
    os.close(made.started)


def block_with(text: str) -> str:
    (found,) = (block for block in BLOCKS if text in block)
    return str(found)


def test_the_page(suite: Suite) -> None:
    suite.write("weather.test.ts", block_with("answers after two errors"))
    suite.write("readme.test.ts", *README)
    suite.write("loop.test.ts", block_with("looks up the weather"))
    suite.write("vitest.config.ts", block_with("globalSetup"))
    status, output = suite.vitest()
    assert (status, "3 passed" in output) == (0, True), output
    suite.write("unused.test.ts", block_with('for nobody" }] });\n'))
    status, output = suite.vitest()
    assert (status, "1 failed | 3 passed" in output) == (1, True), output
    assert block_with("Error: 1 scripted reply was not used.") in output
    assert re.search(r"❯ unused\.test\.ts:5:9", output), output  # the line that opened the fake


def test_the_page_for_who_comes_from_aimock(suite: Suite) -> None:
    page = (ROOT / "docs" / "from-aimock.md").read_text(encoding="utf-8")
    _, body = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (test,) = re.findall(r"```ts\n(.*?)```", page, re.DOTALL)
    suite.write("weather.json", body)
    suite.write("weather.test.ts", test)
    status, output = suite.vitest()
    assert (status, "2 passed" in output) == (0, True), output


# It is checked with `tsc --strict`, and the lines below `@ts-expect-error` are refused.
MANY = """\
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { generateText } from "ai";
import { describe, test } from "vitest";
import { fakeBedrock, withoutWaits, type Fake } from "./converse";

const modelId = "us.amazon.nova-lite-v1:0";

async function ask(fake: Fake, text: string, config = {}) {
  const client = new BedrockRuntimeClient({ ...fake.config, ...config });
  const messages = [{ role: "user" as const, content: [{ text }] }];
  const { stream } = await client.send(new ConverseStreamCommand({ modelId, messages }));
  let said = "";
  for await (const event of stream ?? []) said += event.contentBlockDelta?.delta?.text ?? "";
  return said;
}

const statuses = async (fake: Fake) => (await fake.calls()).map((call) => [call.attempt, call.status]);

describe.concurrent("at the same time", () => {
  for (let n = 0; n < 20; n++)
    test(`fake ${n}`, async (t) => {
      const fake = await fakeBedrock(t, { script: [{ throttled: true }, { text: `first ${n}` }] });
      await fake.script({ script: [{ text: `second ${n}` }], always: { text: "more" } });
      t.expect(await ask(fake, "a")).toBe(`first ${n}`);
      t.expect(await ask(fake, "b")).toBe(`second ${n}`);
      t.expect(await ask(fake, "c")).toBe("more");
      t.expect((await fake.calls()).map((call) => call.lastUserText)).toEqual(["a", "a", "b", "c"]);
    });

  test("attempts are those of the SDK, and it never waits", async (t) => {
    const wait = { retry_after: 3600 };
    const fake = await fakeBedrock(t, { script: [{ throttled: true, times: 2, ...wait }, { text: "ok" }] });
    t.expect(await ask(fake, "a")).toBe("ok");
    t.expect(await statuses(fake)).toEqual([[1, 429], [2, 429], [3, 200]]);
  });

  test("it gives up as the SDK does", async (t) => {
    const fake = await fakeBedrock(t, { always: { service_unavailable: true } });
    await t.expect(ask(fake, "a")).rejects.toThrow(/./);
    t.expect(await statuses(fake)).toEqual([[1, 503], [2, 503], [3, 503]]);
  });

  test("what is no error of the moment is tried once", async (t) => {
    const fake = await fakeBedrock(t, { always: { access_denied: true } });
    await t.expect(ask(fake, "a")).rejects.toThrow(/./);
    t.expect(await statuses(fake)).toEqual([[1, 403]]);
  });

  test("another number of attempts", async (t) => {
    const fake = await fakeBedrock(t, { always: { throttled: true } });
    await t.expect(ask(fake, "a", { retryStrategy: withoutWaits(5) })).rejects.toThrow(/./);
    t.expect((await fake.calls()).length).toBe(5);
  });

  let tries = 0;
  test("a retry of vitest has a fake of its own", { retry: 1 }, async (t) => {
    const fake = await fakeBedrock(t, { script: [{ text: "a" }] });
    if (tries++ > 0) t.expect(await ask(fake, "a")).toBe("a");
  });

  test("one that is closed by hand is checked once", async (t) => {
    const fake = await fakeBedrock(t, { script: [{ text: "a" }] });
    await t.expect(fake.close()).rejects.toThrow(/^1 scripted reply was not used/);
  });

  test("hundreds of calls are read page by page", async (t) => {
    const fake = await fakeBedrock(t, { always: { text: "ok" } });
    const body = JSON.stringify({ messages: [{ role: "user", content: [{ text: "a" }] }] });
    for (let n = 0; n < 520; n++) await fetch(`${fake.url}/model/m/converse`, { method: "POST", body });
    t.expect((await fake.calls()).map((call) => call.number)).toEqual(Array.from({ length: 520 }, (_, n) => n + 1));
  });

  test("the AI SDK", async (t) => {
    const fake = await fakeBedrock(t, { script: [{ text: "ok" }] });
    const { AWS_REGION: region, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = fake.environ;
    const bedrock = createAmazonBedrock({ baseURL: fake.url, region, accessKeyId, secretAccessKey });
    t.expect((await generateText({ model: bedrock(modelId), prompt: "hi", maxRetries: 0 })).text).toBe("ok");
  });
});
"""

WRONG = """\
import { BedrockRuntimeClient, ConverseCommand } from "@aws-sdk/client-bedrock-runtime";
import { describe, test } from "vitest";
import { fakeBedrock } from "./converse";

describe.concurrent("wrong", () => {
  test("unused", async (t) => {
    await fakeBedrock(t, { script: [{ text: "a" }] });
  });

  test("unused is allowed", async (t) => {
    await fakeBedrock(t, { script: [{ text: "a" }], unused: "allow" });
  });

  test("failed", async (t) => {
    await fakeBedrock(t, { script: [{ text: "a" }] });
    t.expect("this").toBe("that");
  });

  test("swallowed", async (t) => {
    const client = new BedrockRuntimeClient((await fakeBedrock(t)).config);
    const messages = [{ role: "user" as const, content: [{ text: "hi" }] }];
    await client.send(new ConverseCommand({ modelId: "m", messages })).catch(() => {});
  });

  test("misspelt", async (t) => {
    // @ts-expect-error
    await fakeBedrock(t, { script: [{ txt: "a" }] });
  });
});
"""


def test_tests_that_run_at_the_same_time_on_one_server(suite: Suite) -> None:
    for name in ("one", "two"):
        suite.write(f"{name}.test.ts", MANY)
    suite.write("vitest.config.ts", block_with("globalSetup"))
    status, output = suite.vitest(CONVERSE_HARNESS=str(suite.folder / "counted"))
    assert (status, "56 passed" in output) == (0, True), output
    assert suite.starts() == 1


def test_without_a_setup_each_file_has_a_server(suite: Suite) -> None:
    for name in ("one", "two"):
        suite.write(f"{name}.test.ts", block_with("answers after two errors"))
    status, output = suite.vitest(CONVERSE_HARNESS=str(suite.folder / "counted"))
    assert (status, "2 passed" in output) == (0, True), output
    assert suite.starts() == 2
    status, output = suite.vitest("--pool=threads", CONVERSE_HARNESS=str(suite.folder / "counted"))
    assert (status, "2 passed" in output) == (0, True), output
    assert suite.starts() == 2


def test_what_is_wrong_fails_its_own_test_in_words_of_json(suite: Suite) -> None:
    suite.write("wrong.test.ts", WRONG)
    status, output = suite.vitest()
    assert (status, "4 failed | 1 passed" in output) == (1, True), output
    assert re.findall(r"^ FAIL .* > (\w+)$", output, re.MULTILINE) == ["unused", "failed", "swallowed", "misspelt"]
    _, unused, failed, swallowed, misspelt = re.split(r"^ FAIL .*\n", output, flags=re.MULTILINE)
    assert 'with "unused": "allow".' in unused
    assert "not used" not in failed
    assert 'Open the fake with what the model answers:\n"script": [{"text": "..."}]' in swallowed
    assert 'script[0] has the unknown member "txt"; did you mean "text"?' in misspelt
    assert not re.search(r"pytest|reply\.|converse\.script|converse\.always", output.replace(str(suite.folder), ""))


PLACES = """\
import { test } from "vitest";
import { fakeBedrock } from "./converse";

test("notes", async (t) => {
  const fake = await fakeBedrock(t, { always: { text: "a" }, rules: "warn" });
  const body = JSON.stringify({ messages: [{ role: "user", content: [{ text: " " }] }] });
  for (let n = 0; n < 2; n++) await fetch(`${fake.url}/model/m/converse`, { method: "POST", body });
});

test("script", async (t) => {
  const fake = await fakeBedrock(t);
  await fake.script({ script: [{ txt: "a" } as never] });
});

test("calls", async (t) => {
  const fake = await fakeBedrock(t, {});
  await fake.close();
  await fake.calls();
});

test("awaits nothing", (t) => {
  const fake = fakeBedrock(t) as any;
  void fake.config;
});

test("has no context", async () => {
  await fakeBedrock({ script: [{ text: "a" }] } as any);
});

test("has no argument", async () => {
  await (fakeBedrock as any)();
});

test("needs none", async () => {
  await (await fakeBedrock({}, { always: { text: "a" } })).close();
});
"""


def test_notes_are_printed_and_an_error_points_to_its_own_line(suite: Suite) -> None:
    suite.write("places.test.ts", PLACES)
    status, output = suite.vitest()
    assert (status, "5 failed | 2 passed" in output) == (1, True), output
    assert output.count("Bedrock would refuse call 1: ") == 1, output
    assert re.findall(r"❯ places\.test\.ts:(\d+):", output) == ["12", "18", "23", "27", "31"], output
    assert "Error: await fakeBedrock(...) first: config is a member of the fake, not of its promise." in output
    assert output.count("Error: fakeBedrock(t, body): the first argument is the test's context; it has neither ") == 2
    assert "Unhandled" not in output


def test_a_command_that_is_not_there_is_told(suite: Suite) -> None:
    suite.write("weather.test.ts", block_with("answers after two errors"))
    status, output = suite.vitest(CONVERSE_HARNESS="no-such-command")
    assert status == 1
    assert (
        "CONVERSE_HARNESS is set to no-such-command, and there is no such file or command (spawn no-such-command "
        f"ENOENT). It is the path of the command, without arguments, from {suite.folder}."
    ) in output
    suite.write("vitest.config.ts", block_with("globalSetup"))
    status, output = suite.vitest(CONVERSE_HARNESS="npx converse-harness", TMPDIR=str(suite.folder / "temporary"))
    assert (status, output.count("serve did not start")) == (1, 1), output
    (suite.folder / "vitest.config.ts").unlink()
    assert [*(suite.folder / "temporary").glob("converse-*")] == []
    status, output = suite.vitest(CONVERSE_HARNESS="", CONVERSE_HARNESS_URL="")
    assert status == 0, output
    (suite.folder / "alone").mkdir()
    (suite.folder / "alone" / "node").symlink_to(str(shutil.which("node")))
    status, output = suite.vitest(PATH=str(suite.folder / "alone"))
    assert (status, "serve did not start: spawn converse-harness ENOENT. Install it: pip install" in output) == (
        1,
        True,
    )
    status, output = suite.vitest(CONVERSE_HARNESS="false")
    assert status == 1
    assert "false serve did not start: it ended with 1." in output
    status, output = suite.vitest(CONVERSE_HARNESS_URL="http://127.0.0.1:1")
    assert status == 1
    assert "Error: no converse-harness answers at http://127.0.0.1:1: " in output


TYPES = """\
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { BedrockRuntimeClient } from "@aws-sdk/client-bedrock-runtime";
import { test as nodeTest } from "node:test";
import { test } from "vitest";
import { fakeBedrock, type Call, type NewFake, type Reply } from "./converse";

const replies: Reply[] = [
  { text: "a", paced: { first: 0.2, each: 0.05 }, times: 2 },
  { tool_use: { name: "get_weather", input: { city: "Zürich" } } },
  { tool_use: "get_weather" },
  { throttled: true, retry_after: 3 },
  { throttled: { wording: "tokens" } },
  { error: { name: "Teapot", status: 418, temperature: "hot" } },
  { message: [{ text: "a" }], usage: { inputTokens: 9 } },
  { text: "a b c", broken: { fault: { name: "stall", lasting: 0.5 } } },
  { text: "a b c", fails_after: { events: 3, exception: "throttlingException" } },
  { improvised: true },
];
const body: NewFake = {
  script: replies,
  when: [
    { model: "*haiku*", last_user_text: { regex: "rain" }, turn: 1, always: { text: "cheap" } },
    { operation: "Retrieve", script: [{ output: { retrievalResults: [] }, times: 2 }, { throttled: true }] },
    { operation: "ListSessions", service: "bedrock-agentcore", always: { output: {}, strict: false } },
    {
      operation: "InvokeAgent",
      service: "bedrock-agent-runtime",
      script: [{ output: { completion: [] }, fails_after: { events: 0, exception: "throttlingException" } }],
    },
  ],
  always: { text: "a" },
  unused: "allow",
  rules: "off",
  keep_calls: null,
};

test("vitest", async (t) => {
  const fake = await fakeBedrock(t, body);
  new BedrockRuntimeClient(fake.config);
  new BedrockRuntimeClient({ ...fake.config, maxAttempts: 5 });
  const calls: Call[] = await fake.calls();
  const text: string | undefined = calls[0]?.lastUserText;
  const result = calls[1]?.messages[2]?.["content"][0].toolResult;
  const content = calls[1]?.toolResults[0]?.["content"];
  const status: number = calls[0]!.status;
  void [text, result, content, status];
});

nodeTest("node", async (t) => {
  const fake = await fakeBedrock(t, body);
  createAmazonBedrock({ baseURL: fake.url, region: fake.environ.AWS_REGION });
});

const wrong: NewFake[] = [
  // @ts-expect-error a member that there is not
  { scripts: [] },
  // @ts-expect-error a value that is not allowed
  { unused: "maybe" },
  // @ts-expect-error a reply is an object
  { script: ["hi"] },
  // @ts-expect-error a text is a string
  { script: [{ text: 5 }] },
  // @ts-expect-error a reply that there is not
  { script: [{ txt: "hi" }] },
  // @ts-expect-error a tool has a name
  { script: [{ tool_use: { input: {} } }] },
  // @ts-expect-error a fault that there is not
  { script: [{ text: "a", broken: "rest" }] },
  // @ts-expect-error a wording that there is not
  { script: [{ throttled: { wording: "x" } }] },
  // @ts-expect-error a modifier that there is not
  { script: [{ text: "a", time: 2 }] },
  // @ts-expect-error `true` alone is no text
  { always: { text: true } },
  // @ts-expect-error any number of calls
  { always: { text: "a", times: 2 } },
  // @ts-expect-error it may stay unused anyway
  { when: [{ turn: 1, always: { throttled: true, optional: true } }] },
  // @ts-expect-error a condition that there is not
  { when: [{ modl: "*haiku*", always: { text: "a" } }] },
  // @ts-expect-error a list
  { when: { turn: 1 } },
  // @ts-expect-error an output is an object
  { when: [{ operation: "Retrieve", script: [{ output: "hi" }] }] },
  // @ts-expect-error an output has its members inside
  { when: [{ operation: "Retrieve", script: [{ retrievalResults: [] }] }] },
  // @ts-expect-error a member beside an output that there is not
  { when: [{ operation: "Retrieve", script: [{ output: {}, service: "bedrock-agent-runtime" }] }] },
  // @ts-expect-error a service is a string
  { when: [{ operation: "Retrieve", service: 5, always: { output: {} } }] },
  // @ts-expect-error a condition that there is not
  { when: [{ operation: "Retrieve", services: "bedrock-agent-runtime", always: { output: {} } }] },
];
void wrong;

// @ts-expect-error there is no fake without a test
void fakeBedrock();

test("what a fake is not", async (t) => {
  const fake = await fakeBedrock(t);
  // @ts-expect-error
  fake.call();
  // @ts-expect-error
  await fake.script([{ text: "a" }]);
  // @ts-expect-error
  (await fake.calls())[0]!.last_user_text;
});
"""

STRICT = (
    *("--noEmit", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--skipLibCheck"),
    "--noPropertyAccessFromIndexSignature",
    *("--target", "es2022", "--module", "esnext"),
)


LOOP = block_with("looks up the weather")


@pytest.mark.parametrize("resolution", ["bundler", "nodenext"])
def test_the_types_accept_right_use_and_refuse_wrong_use(suite: Suite, resolution: str) -> None:
    module = ("--module", "nodenext") if resolution == "nodenext" else ()
    for name, text in (("types.ts", TYPES), ("many.test.ts", MANY), ("wrong.test.ts", WRONG), ("loop.test.ts", LOOP)):
        suite.write(name, text.replace('"./converse"', '"./converse.js"'))
    suite.write("package.json", '{"type": "module"}')
    files = ("types.ts", "many.test.ts", "wrong.test.ts", "loop.test.ts", "converse.ts")
    command = ("tsc", *STRICT, *module, "--moduleResolution", resolution, "--erasableSyntaxOnly", *files)
    done = suite.run(*command, "--types", ",".join(TYPES_OF_PAGE))
    assert (done.returncode, done.stdout) == (0, "")


def test_the_types_are_those_that_openapi_typescript_makes(suite: Suite) -> None:
    """Each body that its types take ours take too, and each answer of ours is one of theirs."""
    shutil.copy(ROOT / "harness/converse_harness/server/control/openapi.json", suite.folder)
    done = suite.run("openapi-typescript", "openapi.json", "--output", "theirs.d.ts")
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^export type (\w+) =", (suite.folder / "converse-api.d.ts").read_text("utf-8"), re.MULTILINE)
    lines = [
        'import type * as ours from "./converse-api.js";',
        'import type { components } from "./theirs.js";',
        'type Theirs = components["schemas"];',
        *(f'export const from_{name} = (value: Theirs["{name}"]): ours.{name} => value;' for name in names),
    ]
    suite.write("both.ts", "\n".join(lines))
    done = suite.run("tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "both.ts")
    assert (done.returncode, done.stdout) == (0, "")


def test_node_test_takes_the_same_file(suite: Suite) -> None:
    """Without its types, as an older Node.js needs it."""
    done = suite.run("esbuild", "converse.ts", "--outfile=converse.mjs")
    assert done.returncode == 0, done.stderr
    test = block_with("node:test").replace("./converse.ts", "./converse.mjs")
    wrong = 'test("unused", async (t) => void (await fakeBedrock(t, { script: [{ text: "for nobody" }] })));\n'
    suite.write("right.test.mjs", test)
    suite.write("wrong.test.mjs", test + wrong)
    environ = {"CONVERSE_HARNESS": str(suite.folder / "counted")}
    done = suite.run("node", "--test", "--test-reporter=tap", "right.test.mjs", **environ)
    assert (done.returncode, "# pass 1" in done.stdout) == (0, True), done.stdout + done.stderr
    done = suite.run("node", "--test", "--test-reporter=tap", "wrong.test.mjs", **environ)
    assert (done.returncode, "# pass 1\n# fail 1" in done.stdout) == (1, True), done.stdout
    assert 'text "for nobody"     not used' in done.stdout
    assert suite.starts() == 2
