import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { cell, expect, type House, openConsole, type Reply, test } from "./assay";

interface Hostile {
  name: string;
  kind: string;
  payload: string;
}

const all = JSON.parse(readFileSync("src/outputs/hostile.json", "utf8")) as Hostile[];

/** How many inputs a cell shows. */
const perCell = 8;

/** The types under which an input of a kind is shown as an output. */
const types: Record<string, string> = {
  html: "text/html",
  svg: "image/svg+xml",
  markdown: "text/markdown",
  latex: "text/latex",
  json: "application/json",
  plotly: "application/vnd.plotly.v1+json",
};

const shower = `import json
class Shown:
    def __init__(self, data): self.data = data
    def _repr_mimebundle_(self, include=None, exclude=None): return self.data
def show(mime, text):
    try: value = json.loads(text) if mime.endswith("json") else text
    except ValueError: value = text
    display(Shown({mime: value, "text/plain": "plain"}))`;

/** A listener that hopes for a request, in the place of the address that the inputs name. */
async function trap() {
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

function source(inputs: readonly Hostile[], aimed: (text: string) => string): string {
  return inputs
    .map(({ kind, payload, name }) => {
      const text = JSON.stringify(JSON.stringify(aimed(payload)));
      const shown = types[kind] ?? "text/html";
      if (kind === "ansi") return `print(json.loads(${text}))`;
      if (kind === "widget") return `w_text_input(json.loads(${text}), key=${JSON.stringify(name)})`;
      return `show(${JSON.stringify(shown)}, json.loads(${text}))`;
    })
    .join("\n");
}

function batches(kinds: readonly string[]): Hostile[][] {
  return kinds.flatMap((kind) => {
    const inputs = all.filter((input) => input.kind === kind);
    return Array.from({ length: Math.ceil(inputs.length / perCell) }, (_, i) =>
      inputs.slice(i * perCell, (i + 1) * perCell),
    );
  });
}

/** An agent that says every input, puts it into titles and Markdown, and runs cells that show it. */
function agent(house: House, kinds: readonly string[], aimed: (text: string) => string): [string, number] {
  let position = 0;
  const create = (input: Record<string, unknown>) => ({
    type: "tool_use",
    name: "create_cell",
    input: { position: position++, cell_type: "code", auto_run: true, ...input },
  });
  const reply = (inputs: readonly Hostile[]): Reply => ({
    content: [
      { type: "text", text: inputs.map(({ payload }) => aimed(payload)).join("\n\n") || "." },
      create({ source: source(inputs, aimed), title: aimed(inputs[0]?.payload ?? "").slice(0, 200) }),
      create({
        source: inputs.map(({ payload }) => aimed(payload)).join("\n\n"),
        cell_type: "markdown",
        auto_run: false,
      }),
    ],
  });
  const first: Reply = { content: [create({ source: `from assay import w_text_input\n${shower}` })] };
  const last: Reply = { content: [{ type: "text", text: "All was said." }] };
  return [house.script(first, ...batches(kinds).map(reply), last), 1 + 2 * batches(kinds).length];
}

/** Draws every cell of the notebook once, and gives what it shows time to do harm. */
async function seeAll(page: Page, count: number): Promise<void> {
  await cell(page, 0).click();
  await page.keyboard.press("Escape");
  for (let at = 0; at < count; at++) {
    await expect(cell(page, at)).toBeVisible();
    await cell(page, at).scrollIntoViewIfNeeded();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    if (at + 1 < count) await page.keyboard.press("ArrowDown");
  }
}

async function harm(page: Page): Promise<unknown> {
  return page.evaluate(() => ({
    pwned: (window as unknown as Record<string, unknown>).__pwned ?? null,
    polluted: ({} as Record<string, unknown>).polluted ?? null,
    title: document.title.includes("pwned"),
    scripts: [...document.scripts].filter((s) => !s.src.startsWith(`${location.origin}/assets/`)).length,
    address: location.pathname,
  }));
}

test("no text becomes HTML or a script but where the page means it to", async ({ page, house, faults }) => {
  const server = await house.serve(["--agent", "noop"]);
  await openConsole(page, server);
  const refused = await page.evaluate(() => {
    const { trustedTypes } = window as unknown as { trustedTypes: { createPolicy(name: string, rules: object): void } };
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
  await expect.poll(() => faults.length).toBe(5); // each is complained of
  faults.length = 0;
});

const harmless = { pwned: null, polluted: null, title: false, scripts: 0, address: "/" };

for (const kinds of [
  ["html"],
  ["svg", "markdown", "latex", "json", "ansi"],
  ["plotly", "title", "widget", "cell_id", "filename"],
]) {
  test(`hostile ${kinds.join(", ")} from an agent and its cells do nothing in the page`, async ({ page, house }) => {
    test.setTimeout(180_000);
    const { caught, aimed, close } = await trap();
    const [model, count] = agent(house, kinds, aimed);
    const dialogs: string[] = [];
    const opened: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    page.context().on("page", (other) => opened.push(other.url()));
    const server = await house.serve(["--agent", "builtin", "--model", model, "--turns", "1000"]);
    await openConsole(page, server);
    await page.getByLabel("Ask the agent").fill("Say it all.");
    await page.keyboard.press("Enter");
    await expect(page.getByText("All was said.").first()).toBeVisible({ timeout: 120_000 });
    await seeAll(page, count);
    expect(await harm(page)).toEqual(harmless);
    expect({ caught, dialogs, opened }).toEqual({ caught: [], dialogs: [], opened: [] });
    close();
  });
}
