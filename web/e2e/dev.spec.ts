import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, relative, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "@playwright/test";
import {
  type AssayHarness,
  type AssayServer,
  expect,
  harnessTest,
  locateCellAt,
  replaceCellText,
  runFocusedCell,
} from "./assay";

/** Path of the script that starts Vite. */
const viteScript = "node_modules/vite/bin/vite.js";

/** Returns the environment for Vite: this process's without the NODE_ENV that the test runner sets. */
function viteEnvironment(): NodeJS.ProcessEnv {
  const { NODE_ENV: _, ...outer } = process.env; // with another NODE_ENV, Vite would prebundle all packages again
  return outer;
}

/** Returns a TCP port of localhost on which nothing listens. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A `vite dev` process. Its port is chosen before it starts, because assay needs its origin as a flag first. */
class ViteDevServer {
  private child: ChildProcess | null = null;

  constructor(readonly port: number) {}

  get url(): string {
    return `http://localhost:${this.port}`;
  }

  /** Starts Vite for an assay server, with EVAL_SANDBOX set to sandbox; resolves when Vite serves. */
  async start(server: AssayServer, sandbox: "1" | ""): Promise<void> {
    const env = { ...viteEnvironment(), EVAL_SANDBOX: sandbox, ASSAY_URL: server.url, NO_COLOR: "1", FORCE_COLOR: "0" };
    const args = [viteScript, "--port", String(this.port), "--strictPort"];
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.child = child;
    await new Promise<void>((resolve, reject) => {
      const output: string[] = [];
      const readLine = (line: string) => {
        output.push(line);
        if (line.includes("Local:")) resolve();
      };
      createInterface({ input: child.stdout }).on("line", readLine);
      createInterface({ input: child.stderr }).on("line", readLine);
      child.on("error", reject);
      child.on("exit", (code) => reject(new Error(`vite ended with ${code}:\n${output.join("\n")}`)));
    });
  }

  async stop(): Promise<void> {
    const child = this.child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await gone;
    clearTimeout(late);
  }
}

const viteTest = harnessTest.extend<{ vite: ViteDevServer }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern here
  vite: async ({}, use) => {
    const vite = new ViteDevServer(await freePort());
    await use(vite);
    await vite.stop();
  },
});

viteTest.describe.configure({ timeout: 180_000 });

/** Timeout in ms for the first load: Vite may have to prebundle packages, and serves hundreds of files. */
const firstLoadTimeout = { timeout: 90_000 };

/** Waits at most 90 s until the page shows that it is connected. */
async function waitUntilConnected(page: Page): Promise<void> {
  await expect(page.getByText("connected", { exact: true }).first()).toBeVisible(firstLoadTimeout);
}

/** Returns arguments for an agent that starts only when the file `go` exists, to keep a session in its starting phase. */
function delayedAgentArgs(harness: AssayHarness): string[] {
  const source = `import os, sys, time
while not os.path.exists(${JSON.stringify(join(harness.dir, "go"))}): time.sleep(0.05)
os.execv(sys.executable, [sys.executable, ${JSON.stringify(resolve("../docs/examples/agent.py"))}, sys.argv[-1]])
`;
  return ["--agent", `python3 ${harness.writeFile("late.py", source)}`];
}

/** Returns a list that fills with the page's WebSockets to /run and /agent, each with the first message it sends. */
function recordSockets(page: Page): { url: string; first: Record<string, unknown> | null }[] {
  const sockets: ReturnType<typeof recordSockets> = [];
  page.on("websocket", (ws) => {
    const { host, pathname } = new URL(ws.url());
    if (pathname !== "/run" && pathname !== "/agent") return;
    const socket: (typeof sockets)[number] = { url: `ws://${host}${pathname}`, first: null };
    sockets.push(socket);
    ws.on("framesent", ({ payload }) => {
      socket.first ??= JSON.parse(String(payload)) as Record<string, unknown>;
    });
  });
  return sockets;
}

/** Creates a first cell, runs it, and waits for its output 42. */
async function runFirstCell(page: Page): Promise<void> {
  await page.getByRole("toolbar", { name: "Notebook" }).getByRole("button", { name: "Code" }).click();
  await replaceCellText(page, 0, "6 * 7");
  await runFocusedCell(page);
  await expect(locateCellAt(page, 0).getByText("42", { exact: true })).toBeVisible();
}

viteTest(
  "vite dev with EVAL_SANDBOX=1: the page connects directly to the server without asking for a token",
  async ({ page, harness, vite }) => {
    const server = await harness.startServer([...delayedAgentArgs(harness), "--origin", vite.url]);
    await vite.start(server, "1");
    const logged: string[] = [];
    page.on("console", (message) => logged.push(message.text()));
    const sockets = recordSockets(page);
    await page.goto(vite.url);
    await expect(page.getByText("Connecting…")).toBeVisible(firstLoadTimeout); // the phase of the session is not shown
    harness.writeFile("go", "");
    await waitUntilConnected(page);
    await runFirstCell(page);
    await expect(page.getByLabel("Token")).toHaveCount(0);
    expect(logged).toContain("[AgentConnection] Connected");
    const ws = server.url.replace("http:", "ws:");
    const [run, agent] = sockets.slice(-2);
    expect(run).toMatchObject({ url: `${ws}/run`, first: { token: "local-dev-token" } });
    expect(agent).toMatchObject({ url: `${ws}/agent`, first: { type: "init" } });
  },
);

viteTest(
  "vite dev without EVAL_SANDBOX: the page asks for the token and shows the phase of the session",
  async ({ page, harness, vite }) => {
    const args = [...delayedAgentArgs(harness), "--origin", vite.url];
    const server = await harness.startServer(args, { EVAL_SANDBOX: "", ASSAY_TOKEN: "hush" });
    await vite.start(server, "");
    const sockets = recordSockets(page);
    await page.goto(vite.url);
    await page.getByLabel("Token").fill("hush", firstLoadTimeout);
    expect(sockets).toEqual([]);
    await page.getByRole("button", { name: "Continue" }).click();
    await expect(page.getByText("Starting the kernel and the agent…")).toBeVisible();
    harness.writeFile("go", "");
    await waitUntilConnected(page);
    await runFirstCell(page);
    expect(sockets.at(-2)?.first).toMatchObject({ token: "hush" });
  },
);

viteTest(
  "vite dev: the page reports that there is no server, or that the server refuses its origin",
  async ({ page, harness, vite }) => {
    // In sandbox mode the server would admit any page of this machine.
    const env = { EVAL_SANDBOX: "", ASSAY_TOKEN: "local-dev-token" };
    const server = await harness.startServer(["--agent", "noop"], env);
    await vite.start(server, "1");
    await page.goto(vite.url);
    const alert = page.getByRole("alert");
    await expect(alert).toContainText(`pages of ${vite.url} may not use this server; --origin lists`, firstLoadTimeout);
    await server.stop();
    await page.getByRole("button", { name: "Try again" }).click();
    await expect(alert).toContainText(`No server at ${server.url}`);
    const args = ["--agent", "noop", "--addr", server.url.replace("http://", ""), "--origin", vite.url];
    const other = await harness.startServer(args, env);
    expect(other.url).toBe(server.url);
    await page.getByRole("button", { name: "Try again" }).click();
    await waitUntilConnected(page);
  },
);

viteTest(
  "vite dev in sandbox mode: the page reports that a server outside sandbox mode refused its token",
  async ({ page, harness, vite }) => {
    const server = await harness.startServer(["--agent", "noop", "--origin", vite.url], {
      EVAL_SANDBOX: "",
      ASSAY_TOKEN: "hush",
    });
    await vite.start(server, "1");
    await page.goto(vite.url);
    const refusal = page.getByText("The server has refused this connection. The server says: wrong token.");
    await expect(refusal).toBeVisible(firstLoadTimeout);
    await expect(page.getByLabel("Token")).toHaveCount(0);
  },
);

viteTest("a build does not depend on EVAL_SANDBOX and ASSAY_URL", async ({ harness }) => {
  const build = (to: string, env: Record<string, string>) => {
    const args = [viteScript, "build", "--logLevel", "warn", "--outDir", join(harness.dir, to), "--emptyOutDir"];
    execFileSync(process.execPath, args, { env: { ...viteEnvironment(), ...env }, stdio: "pipe", timeout: 80_000 });
    const files = readdirSync(join(harness.dir, to), { recursive: true, withFileTypes: true }).filter((f) =>
      f.isFile(),
    );
    const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
    return paths.map((path) => [relative(join(harness.dir, to), path), readFileSync(path, "utf8")]);
  };
  const withoutVariables = build("without-variables", { EVAL_SANDBOX: "", ASSAY_URL: "" });
  const withVariables = build("with-variables", { EVAL_SANDBOX: "1", ASSAY_URL: "http://localhost:1" });
  expect(withoutVariables.length).toBeGreaterThan(3);
  expect(withVariables.map(([name]) => name)).toEqual(withoutVariables.map(([name]) => name));
  expect(JSON.stringify(withVariables) === JSON.stringify(withoutVariables)).toBe(true);
});
