import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test as base, expect, type Page } from "@playwright/test";

export { expect };

/** What stands in a case file, as far as the tests write some. */
export interface Case {
  id: string;
  task: string;
  [field: string]: unknown;
}

/** A reply of the scripted model: docs/agent.md says what it may have. */
export type Reply = Record<string, unknown>;

const assay = process.env.ASSAY ?? "../.cache/assay";

/** A folder of a test's own, in which the program runs and leaves what it makes. */
export class House {
  readonly dir = mkdtempSync(join(tmpdir(), "assay-e2e-"));
  private servers: Server[] = [];

  write(name: string, text: string): string {
    const path = join(this.dir, name);
    writeFileSync(path, text);
    return path;
  }

  /** The path of a file with this case. */
  case(c: Case): string {
    return this.write(`${c.id}.json`, JSON.stringify(c));
  }

  /** The value of --model for a scripted model. */
  script(...replies: Reply[]): string {
    const lines = replies.map((reply) => JSON.stringify(reply)).join("\n");
    return `script:${this.write(`turns-${Math.random().toString(36).slice(2)}.jsonl`, `${lines}\n`)}`;
  }

  /** Starts `assay serve` with these arguments beside those for the test, and waits until it serves. */
  async serve(args: string[], env: Record<string, string> = {}): Promise<Server> {
    const server = new Server(this.dir, args, env);
    this.servers.push(server);
    await server.start();
    return server;
  }

  /** Runs a command of assay to its end and resolves to its exit status. */
  run(args: string[], env: Record<string, string> = {}): Promise<number> {
    return new Promise((resolve, reject) => {
      const child = spawn(assay, args, { cwd: this.dir, env: { ...process.env, ...env }, stdio: "ignore" });
      child.on("error", reject);
      child.on("exit", (code) => resolve(code ?? -1));
    });
  }

  async end(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** A running `assay serve`. */
export class Server {
  url = "";
  /** What it has said on stderr, by line. */
  readonly log: string[] = [];
  private child: ChildProcess | null = null;

  constructor(
    private readonly dir: string,
    private readonly args: string[],
    private readonly env: Record<string, string>,
  ) {}

  /** Starts it; again after a stop, at the same address. */
  async start(): Promise<void> {
    const address = this.url === "" ? "localhost:0" : this.url.replace("http://", "");
    const args = ["serve", "--addr", address, "--runs", "runs", "--out", "traces", ...this.args];
    const env = { ...process.env, EVAL_SANDBOX: "1", ...this.env };
    const child = spawn(assay, args, { cwd: this.dir, env, stdio: ["ignore", "ignore", "pipe"] });
    this.child = child;
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stderr }).on("line", (line) => {
        this.log.push(line);
        const [, url] = line.split("serving at ");
        if (url === undefined) return;
        this.url = url.replace("127.0.0.1", "localhost");
        resolve();
      });
      child.on("error", reject);
      child.on("exit", (code) => reject(new Error(`assay serve ended with ${code}:\n${this.log.join("\n")}`)));
    });
  }

  /** Ends it and waits for that; SIGKILL is as if it had crashed. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const child = this.child;
    if (child === null || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
    this.child = null;
  }

  async json<T>(path: string): Promise<T> {
    return (await (await fetch(this.url + path)).json()) as T;
  }

  /** The entries of a session's trace so far. */
  async trace(session = "default"): Promise<TraceLine[]> {
    const { trace } = await this.json<{ trace: string }>(`/api/sessions/${session}`);
    return readTrace(join(this.dir, trace));
  }
}

export interface TraceLine {
  seq: number;
  hop: string;
  type: string;
  action?: string;
  tx_id?: string;
  cell_id?: string;
  note?: string;
  msg?: Record<string, unknown>;
}

export function readTrace(path: string): TraceLine[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(1, -1);
  return lines.map((line) => JSON.parse(line) as TraceLine);
}

/** A test with a folder of its own, and a page of which nothing may go wrong unnoticed. */
export const test = base.extend<{ house: House; faults: string[] }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern here
  house: async ({}, use) => {
    const house = new House();
    await use(house);
    await house.end();
  },
  /** What the page complained of: errors that nobody caught, and what its policy has refused. */
  faults: [
    async ({ page }, use) => {
      const faults: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error" && message.text().startsWith("[fault]")) faults.push(message.text());
      });
      // Of the page alone: frames are for what may be refused, and may fail.
      await page.addInitScript(() => {
        if (window !== window.top) return;
        const tell = (...what: unknown[]) => console.error("[fault]", ...what.map(String));
        addEventListener("error", ({ message, filename, lineno }) => {
          if (!message.startsWith("ResizeObserver loop")) tell(message, filename, lineno); // it goes on in the next frame
        });
        addEventListener("unhandledrejection", ({ reason }) => tell("unhandled", reason?.stack ?? reason));
        document.addEventListener("securitypolicyviolation", (event) => {
          const { target, violatedDirective, blockedURI, sourceFile, lineNumber } = event;
          // HTML that is only parsed, to be cleaned, has elements that are not in the page.
          if (target === document && ["base-uri", "script-src-attr", "style-src-attr"].includes(violatedDirective))
            return;
          // A frame of ours whose script wants to go elsewhere is held by the policy of the page.
          const ours = [...document.querySelectorAll("iframe")].every(({ src }) =>
            src.startsWith(`${location.origin}/frame/`),
          );
          if (violatedDirective === "frame-src" && ours) return;
          tell(violatedDirective, blockedURI, sourceFile, lineNumber);
        });
      });
      await use(faults);
      expect(faults).toEqual([]);
    },
    { auto: true },
  ],
});

/** Opens the console and waits until it is connected. */
export async function openConsole(page: Page, server: Server, query = ""): Promise<void> {
  await page.goto(`${server.url}/${query}`);
  await expect(page.getByText("connected", { exact: true }).first()).toBeVisible();
}

/** The cell at this place, from 0. */
export function cell(page: Page, index: number) {
  return page.locator(`[data-cell][aria-posinset="${index + 1}"]`);
}

/** Makes a code cell at the end of the notebook, with this text, and returns its place. */
export async function addCell(page: Page, text: string): Promise<number> {
  await page.getByRole("toolbar", { name: "Notebook" }).getByRole("button", { name: "Code" }).click();
  const made = page.locator("[data-cell]").filter({ has: page.locator(".cm-content:focus") });
  await expect(made).toBeVisible(); // the page opens its text
  const place = Number(await made.getAttribute("aria-posinset"));
  await page.keyboard.insertText(text);
  return place - 1;
}

/** Writes text into a cell, in the place of what it has. */
export async function typeInto(page: Page, index: number, text: string): Promise<void> {
  const editor = cell(page, index).getByRole("textbox");
  if (!(await editor.isVisible())) {
    await cell(page, index).click({ position: { x: 5, y: 5 } }); // beside the text: a click on that opens it
    await page.keyboard.press("Enter");
  }
  await editor.click();
  await expect(editor).toBeFocused();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

/** Runs the cell in which the focus is. */
export async function runHere(page: Page): Promise<void> {
  await page.keyboard.press("Control+Enter");
}

/** A tool call of the scripted model. */
export function call(name: string, input: Record<string, unknown>) {
  return { type: "tool_use", name, input };
}

/** What the scripted model says when it has done a case. */
export function submit(answer: unknown) {
  const summary = `<EVAL_ANSWER>${JSON.stringify(answer)}</EVAL_ANSWER> [EVAL_COMPLETE]`;
  return call("submit_response", { summary, next_status: "done" });
}

/** A case that wants {"total": 45}, and the replies that solve it, with a mistake on the way. */
export const sum: Case = {
  id: "sum",
  task: 'Sum the whole numbers from 0 to 9 in a cell. Answer {"total": n}.',
  grader: { type: "exact", config: { ground_truth: { total: 45 } } },
};

export function sumReplies(delay = 300): Reply[] {
  const source = "total = sum(range(10))\ntotal";
  return [
    {
      delay_ms: delay,
      content: [
        { type: "text", text: "I look first." },
        call("create_cell", { position: 0, cell_type: "code", source: "totl", auto_run: true }),
      ],
      usage: { input_tokens: 900, output_tokens: 40 },
    },
    {
      delay_ms: delay,
      expect: { tool_result_contains: "NameError" },
      content: [call("edit_cell", { cell_id: "$cell[0]", source, auto_run: true })],
    },
    {
      delay_ms: delay,
      expect: { tool_result_contains: "45" },
      content: [{ type: "text", text: "It is **45**." }, submit({ total: 45 })],
    },
  ];
}
