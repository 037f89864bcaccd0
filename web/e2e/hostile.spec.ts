import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { type AssayHarness, expect, harnessTest, locateCellAt, openConsole, type ScriptedReply } from "./assay";

/** A text with which an agent or a kernel might attack the page. kind says where it is shown. */
interface HostileInput {
  name: string;
  kind: string;
  payload: string;
}

/** The hostile inputs that the unit tests of outputs use too. */
const hostileInputs = JSON.parse(readFileSync("src/outputs/hostile.json", "utf8")) as HostileInput[];

/** The number of hostile inputs that one cell outputs. */
const inputsPerCell = 8;

/** The MIME type under which an input of each kind is output; kinds without an entry are HTML. */
const mimeTypes: Record<string, string> = {
  html: "text/html",
  svg: "image/svg+xml",
  markdown: "text/markdown",
  latex: "text/latex",
  json: "application/json",
  plotly: "application/vnd.plotly.v1+json",
};

/** Python source of show(mime, text), which outputs a text under a MIME type. */
const showFunctionSource = `import json
class HostileOutput:
    def __init__(self, data): self.data = data
    def _repr_mimebundle_(self, include=None, exclude=None): return self.data
def show(mime, text):
    try: value = json.loads(text) if mime.endswith("json") else text
    except ValueError: value = text
    display(HostileOutput({mime: value, "text/plain": "plain"}))`;

/**
 * Starts an HTTP server that records the paths requested from it, to detect requests by hostile inputs.
 * aimed replaces the address in an input by that of this server.
 */
async function startRequestTrap() {
  const caught: string[] = [];
  const server = createServer((request, response) => {
    caught.push(request.url ?? "");
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const aimed = (text: string) => text.replaceAll("127.0.0.1:9/", `127.0.0.1:${port}/`);
  return { caught, aimed, close: () => server.close() };
}

/** Returns Python source that outputs the inputs. */
function cellSourceOfInputs(inputs: readonly HostileInput[], aimed: (text: string) => string): string {
  return inputs
    .map(({ kind, payload, name }) => {
      const text = JSON.stringify(JSON.stringify(aimed(payload)));
      const shown = mimeTypes[kind] ?? "text/html";
      if (kind === "ansi") return `print(json.loads(${text}))`;
      if (kind === "widget") return `w_text_input(json.loads(${text}), key=${JSON.stringify(name)})`;
      return `show(${JSON.stringify(shown)}, json.loads(${text}))`;
    })
    .join("\n");
}

/** Returns the inputs of the kinds in groups of at most inputsPerCell of the same kind. */
function inputBatches(kinds: readonly string[]): HostileInput[][] {
  return kinds.flatMap((kind) => {
    const inputs = hostileInputs.filter((input) => input.kind === kind);
    return Array.from({ length: Math.ceil(inputs.length / inputsPerCell) }, (_, i) =>
      inputs.slice(i * inputsPerCell, (i + 1) * inputsPerCell),
    );
  });
}

/**
 * Returns the --model of an agent that uses every input of the kinds in its messages, cell titles, Markdown
 * cells and cell outputs, and the number of cells that it creates.
 */
function scriptHostileAgent(
  harness: AssayHarness,
  kinds: readonly string[],
  aimed: (text: string) => string,
): [string, number] {
  let position = 0;
  const create = (input: Record<string, unknown>) => ({
    type: "tool_use",
    name: "create_cell",
    input: { position: position++, cell_type: "code", auto_run: true, ...input },
  });
  const reply = (inputs: readonly HostileInput[]): ScriptedReply => ({
    content: [
      { type: "text", text: inputs.map(({ payload }) => aimed(payload)).join("\n\n") || "." },
      create({ source: cellSourceOfInputs(inputs, aimed), title: aimed(inputs[0]?.payload ?? "").slice(0, 200) }),
      create({
        source: inputs.map(({ payload }) => aimed(payload)).join("\n\n"),
        cell_type: "markdown",
        auto_run: false,
      }),
    ],
  });
  const first: ScriptedReply = {
    content: [create({ source: `from assay import w_text_input\n${showFunctionSource}` })],
  };
  const last: ScriptedReply = { content: [{ type: "text", text: "All inputs sent." }] };
  return [harness.writeModelScript(first, ...inputBatches(kinds).map(reply), last), 1 + 2 * inputBatches(kinds).length];
}

/** Scrolls every cell into view once and waits two frames for each, so that hostile content can act. */
async function scrollThroughAllCells(page: Page, count: number): Promise<void> {
  await locateCellAt(page, 0).click();
  await page.keyboard.press("Escape");
  for (let at = 0; at < count; at++) {
    await expect(locateCellAt(page, at)).toBeVisible();
    await locateCellAt(page, at).scrollIntoViewIfNeeded();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    if (at + 1 < count) await page.keyboard.press("ArrowDown");
  }
}

/** Reads from the page what a hostile input may have changed: globals, prototypes, title, scripts, address. */
async function readPageHarm(page: Page): Promise<unknown> {
  return page.evaluate(() => ({
    pwned: (window as unknown as Record<string, unknown>).__pwned ?? null,
    polluted: ({} as Record<string, unknown>).polluted ?? null,
    title: document.title.includes("pwned"),
    scripts: [...document.scripts].filter((s) => !s.src.startsWith(`${location.origin}/assets/`)).length,
    address: location.pathname,
  }));
}

harnessTest(
  "Trusted Types refuse HTML and script sources outside of the page's own policies",
  async ({ page, harness, pageErrors }) => {
    const server = await harness.startServer(["--agent", "noop"]);
    await openConsole(page, server);
    const refused = await page.evaluate(() => {
      const { trustedTypes } = window as unknown as {
        trustedTypes: { createPolicy(name: string, rules: object): void };
      };
      const tries = [
        () => Object.assign(document.createElement("div"), { innerHTML: "<b>" }),
        () => new DOMParser().parseFromString("<b>", "text/html"),
        () => Object.assign(document.createElement("script"), { src: "/assets/a.js" }),
        () => new Worker("/assets/a.js"),
        () => trustedTypes.createPolicy("another", {}),
      ];
      return tries.map((attempt) => {
        try {
          attempt();
          return "done";
        } catch (error) {
          return (error as Error).name;
        }
      });
    });
    expect(refused).toEqual(Array(5).fill("TypeError"));
    await expect.poll(() => pageErrors.length).toBe(5); // each is reported as a violation
    pageErrors.length = 0;
  },
);

/** What readPageHarm returns for a page that no hostile input has changed. */
const noPageHarm = { pwned: null, polluted: null, title: false, scripts: 0, address: "/" };

for (const kinds of [
  ["html"],
  ["svg", "markdown", "latex", "json", "ansi"],
  ["plotly", "title", "widget", "cell_id", "filename"],
]) {
  harnessTest(
    `hostile ${kinds.join(", ")} from an agent and its cells change nothing in the page and send no requests`,
    async ({ page, harness }) => {
      harnessTest.setTimeout(180_000);
      const { caught, aimed, close } = await startRequestTrap();
      const [model, count] = scriptHostileAgent(harness, kinds, aimed);
      const dialogs: string[] = [];
      const opened: string[] = [];
      page.on("dialog", (dialog) => {
        dialogs.push(dialog.message());
        void dialog.dismiss();
      });
      page.context().on("page", (other) => opened.push(other.url()));
      const server = await harness.startServer(["--agent", "builtin", "--model", model, "--turns", "1000"]);
      await openConsole(page, server);
      await page.getByLabel("Ask the agent").fill("Start.");
      await page.keyboard.press("Enter");
      await expect(page.getByText("All inputs sent.").first()).toBeVisible({ timeout: 120_000 });
      await scrollThroughAllCells(page, count);
      expect(await readPageHarm(page)).toEqual(noPageHarm);
      expect({ caught, dialogs, opened }).toEqual({ caught: [], dialogs: [], opened: [] });
      close();
    },
  );
}
