import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test as base, expect, type Page } from "@playwright/test";

export { expect };

/** The content of a test case's JSON file: its id, its task, and any other fields of the case format. */
export interface CaseFile {
  id: string;
  task: string;
  [field: string]: unknown;
}

/** One reply of the scripted model, written as a line of its script; docs/agent.md lists the fields. */
export type ScriptedReply = Record<string, unknown>;

/** Path of the assay program to test: the environment variable ASSAY, or the one that the Makefile builds. */
const assayBinary = process.env.ASSAY ?? "../.cache/assay";

/** Runs assay in a temporary folder for one test. cleanUp stops its servers and deletes the folder. */
export class AssayHarness {
  readonly dir = mkdtempSync(join(tmpdir(), "assay-e2e-"));
  private servers: AssayServer[] = [];

  /** Writes a file into the folder and returns its path. */
  writeFile(name: string, text: string): string {
    const path = join(this.dir, name);
    writeFileSync(path, text);
    return path;
  }

  /** Writes a case file and returns its path. */
  writeCase(c: CaseFile): string {
    return this.writeFile(`${c.id}.json`, JSON.stringify(c));
  }

  /** Writes a script with these replies and returns the value of --model that plays it. */
  writeModelScript(...replies: ScriptedReply[]): string {
    const lines = replies.map((reply) => JSON.stringify(reply)).join("\n");
    return `script:${this.writeFile(`turns-${Math.random().toString(36).slice(2)}.jsonl`, `${lines}\n`)}`;
  }

  /** Starts `assay serve` with these arguments and environment variables; resolves when it serves. */
  async startServer(args: string[], env: Record<string, string> = {}): Promise<AssayServer> {
    const server = new AssayServer(this.dir, args, env);
    this.servers.push(server);
    await server.start();
    return server;
  }

  /** Runs an assay command and resolves to its exit status, or -1 if a signal ended it. */
  runAssay(args: string[], env: Record<string, string> = {}): Promise<number> {
    return new Promise((resolve, reject) => {
      const child = spawn(assayBinary, args, { cwd: this.dir, env: { ...process.env, ...env }, stdio: "ignore" });
      child.on("error", reject);
      child.on("exit", (code) => resolve(code ?? -1));
    });
  }

  /** Stops all servers of the test and deletes the folder. */
  async cleanUp(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** An `assay serve` process with sandbox mode on, unless env overrides EVAL_SANDBOX. */
export class AssayServer {
  url = "";
  /** The lines that the process has written to stderr. */
  readonly stderrLines: string[] = [];
  private child: ChildProcess | null = null;

  constructor(
    private readonly dir: string,
    private readonly args: string[],
    private readonly env: Record<string, string>,
  ) {}

  /** Starts the process and waits until it serves. After a stop it starts at the same address. */
  async start(): Promise<void> {
    const address = this.url === "" ? "localhost:0" : this.url.replace("http://", "");
    const args = ["serve", "--addr", address, "--runs", "runs", "--out", "traces", ...this.args];
    const env = { ...process.env, EVAL_SANDBOX: "1", ...this.env };
    const child = spawn(assayBinary, args, { cwd: this.dir, env, stdio: ["ignore", "ignore", "pipe"] });
    this.child = child;
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stderr }).on("line", (line) => {
        this.stderrLines.push(line);
        const [, url] = line.split("serving at ");
        if (url === undefined) return;
        this.url = url.replace("127.0.0.1", "localhost");
        resolve();
      });
      child.on("error", reject);
      child.on("exit", (code) => reject(new Error(`assay serve ended with ${code}:\n${this.stderrLines.join("\n")}`)));
    });
  }

  /** Sends a signal to the process and waits for its exit. SIGKILL simulates a crash. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const child = this.child;
    if (child === null || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
    this.child = null;
  }

  /** Requests a path of the server and returns the parsed response. */
  async getJSON<T>(path: string): Promise<T> {
    return (await (await fetch(this.url + path)).json()) as T;
  }

  /** Returns the entries of a session's trace so far. */
  async readTrace(session = "default"): Promise<TraceEntry[]> {
    const { trace } = await this.getJSON<{ trace: string }>(`/api/sessions/${session}`);
    return readTrace(join(this.dir, trace));
  }
}

/** One entry of a trace, with the fields that the tests read. */
export interface TraceEntry {
  seq: number;
  hop: string;
  type: string;
  action?: string;
  tx_id?: string;
  cell_id?: string;
  note?: string;
  msg?: Record<string, unknown>;
}

/** Returns the entries of a trace file; [] if the file does not exist. Leaves out the header line and an incomplete last line. */
export function readTrace(path: string): TraceEntry[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(1, -1);
  return lines.map((line) => JSON.parse(line) as TraceEntry);
}

/**
 * Playwright's test with a harness that runs assay in a temporary folder. The test fails if the page
 * has uncaught errors or violates its Content-Security-Policy.
 */
export const harnessTest = base.extend<{ harness: AssayHarness; pageErrors: string[] }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern here
  harness: async ({}, use) => {
    const harness = new AssayHarness();
    await use(harness);
    await harness.cleanUp();
  },
  /** Uncaught errors and Content-Security-Policy violations of the page; a test that expects some removes them. */
  pageErrors: [
    async ({ page }, use) => {
      const pageErrors: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error" && message.text().startsWith("[page error]")) pageErrors.push(message.text());
      });
      // Only the top page is checked: frames show untrusted output, whose requests may be refused or fail.
      await page.addInitScript(() => {
        if (window !== window.top) return;
        const report = (...details: unknown[]) => console.error("[page error]", ...details.map(String));
        addEventListener("error", ({ message, filename, lineno }) => {
          if (!message.startsWith("ResizeObserver loop")) report(message, filename, lineno); // it goes on in the next frame
        });
        addEventListener("unhandledrejection", ({ reason }) => report("unhandled", reason?.stack ?? reason));
        document.addEventListener("securitypolicyviolation", (event) => {
          const { target, violatedDirective, blockedURI, sourceFile, lineNumber } = event;
          // Parsing HTML in order to sanitise it reports violations for elements that are never in the page.
          if (target === document && ["base-uri", "script-src-attr", "style-src-attr"].includes(violatedDirective))
            return;
          // If a script in one of our frames navigates away, the page's policy blocks it: that is intended.
          const onlyOurFrames = [...document.querySelectorAll("iframe")].every(({ src }) =>
            src.startsWith(`${location.origin}/frame/`),
          );
          if (violatedDirective === "frame-src" && onlyOurFrames) return;
          report(violatedDirective, blockedURI, sourceFile, lineNumber);
        });
      });
      await use(pageErrors);
      expect(pageErrors).toEqual([]);
    },
    { auto: true },
  ],
});

/** Opens the console and waits until it is connected. */
export async function openConsole(page: Page, server: AssayServer, query = ""): Promise<void> {
  await page.goto(`${server.url}/${query}`);
  await expect(page.getByText("connected", { exact: true }).first()).toBeVisible();
}

/** Returns the element of the cell at an index, counted from 0. */
export function locateCellAt(page: Page, index: number) {
  return page.locator(`[data-cell][aria-posinset="${index + 1}"]`);
}

/** Appends a code cell with this text to the notebook; resolves to its index, counted from 0. */
export async function addCell(page: Page, text: string): Promise<number> {
  await page.getByRole("toolbar", { name: "Notebook" }).getByRole("button", { name: "Code" }).click();
  const newCell = page.locator("[data-cell]").filter({ has: page.locator(".cm-content:focus") });
  await expect(newCell).toBeVisible(); // the page opens its editor
  const position = Number(await newCell.getAttribute("aria-posinset"));
  await page.keyboard.insertText(text);
  return position - 1;
}

/** Replaces the text of the cell at an index by typing into its editor. */
export async function replaceCellText(page: Page, index: number, text: string): Promise<void> {
  const editor = locateCellAt(page, index).getByRole("textbox");
  if (!(await editor.isVisible())) {
    await locateCellAt(page, index).click({ position: { x: 5, y: 5 } }); // beside the text: a click on the text opens the editor
    await page.keyboard.press("Enter");
  }
  await editor.click();
  await expect(editor).toBeFocused();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

/** Runs the focused cell with Control-Enter. */
export async function runFocusedCell(page: Page): Promise<void> {
  await page.keyboard.press("Control+Enter");
}

/** Returns a tool call for a reply of the scripted model. */
export function scriptedToolCall(name: string, input: Record<string, unknown>) {
  return { type: "tool_use", name, input };
}

/** Returns the tool call with which the scripted model submits its answer and completes the case. */
export function scriptedSubmitCall(answer: unknown) {
  const summary = `<EVAL_ANSWER>${JSON.stringify(answer)}</EVAL_ANSWER> [EVAL_COMPLETE]`;
  return scriptedToolCall("submit_response", { summary, next_status: "done" });
}

/** A case whose correct answer is {"total": 45}; the replies of sumReplies solve it. */
export const sumCase: CaseFile = {
  id: "sum",
  task: 'Sum the whole numbers from 0 to 9 in a cell. Answer {"total": n}.',
  grader: { type: "exact", config: { ground_truth: { total: 45 } } },
};

/** Returns replies that solve sumCase after a NameError in the first run. delay is the milliseconds before each reply. */
export function sumReplies(delay = 300): ScriptedReply[] {
  const source = "total = sum(range(10))\ntotal";
  return [
    {
      delay_ms: delay,
      content: [
        { type: "text", text: "Let me try." },
        scriptedToolCall("create_cell", { position: 0, cell_type: "code", source: "totl", auto_run: true }),
      ],
      usage: { input_tokens: 900, output_tokens: 40 },
    },
    {
      delay_ms: delay,
      expect: { tool_result_contains: "NameError" },
      content: [scriptedToolCall("edit_cell", { cell_id: "$cell[0]", source, auto_run: true })],
    },
    {
      delay_ms: delay,
      expect: { tool_result_contains: "45" },
      content: [{ type: "text", text: "It is **45**." }, scriptedSubmitCall({ total: 45 })],
    },
  ];
}
