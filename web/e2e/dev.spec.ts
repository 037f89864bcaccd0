import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, relative, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "@playwright/test";
import { cell, expect, type House, runHere, type Server, typeInto, test as withHouse } from "./assay";

const vitePath = "node_modules/vite/bin/vite.js";

/** The environment of a Vite that nobody's test has started. */
function environment(): NodeJS.ProcessEnv {
  const { NODE_ENV: _, ...outer } = process.env; // with another one Vite prepares the packages anew
  return outer;
}

/** A port that nothing listens at. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** `vite dev`, at a port that is known before it starts: the server is to be told of it first. */
class Vite {
  private child: ChildProcess | null = null;

  constructor(readonly port: number) {}

  get url(): string {
    return `http://localhost:${this.port}`;
  }

  /** Starts it in front of that server, and waits until it serves. */
  async start(server: Server, sandbox: "1" | ""): Promise<void> {
    const env = { ...environment(), EVAL_SANDBOX: sandbox, ASSAY_URL: server.url, NO_COLOR: "1", FORCE_COLOR: "0" };
    const args = [vitePath, "--port", String(this.port), "--strictPort"];
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.child = child;
    await new Promise<void>((resolve, reject) => {
      const said: string[] = [];
      const hear = (line: string) => {
        said.push(line);
        if (line.includes("Local:")) resolve();
      };
      createInterface({ input: child.stdout }).on("line", hear);
      createInterface({ input: child.stderr }).on("line", hear);
      child.on("error", reject);
      child.on("exit", (code) => reject(new Error(`vite ended with ${code}:\n${said.join("\n")}`)));
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

const test = withHouse.extend<{ vite: Vite }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern here
  vite: async ({}, use) => {
    const vite = new Vite(await freePort());
    await use(vite);
    await vite.stop();
  },
});

test.describe.configure({ timeout: 180_000 });

/** Vite prepares the packages first, when they are new, and sends the page in hundreds of files. */
const firstPage = { timeout: 90_000 };

/** Waits until the page is connected. */
async function isConnected(page: Page): Promise<void> {
  await expect(page.getByText("connected", { exact: true }).first()).toBeVisible(firstPage);
}

/** The arguments for an agent that is not ready before the file `go` is there, so that the session is starting. */
function lateAgent(house: House): string[] {
  const source = `import os, sys, time
while not os.path.exists(${JSON.stringify(join(house.dir, "go"))}): time.sleep(0.05)
os.execv(sys.executable, [sys.executable, ${JSON.stringify(resolve("../docs/examples/agent.py"))}, sys.argv[-1]])
`;
  return ["--agent", `python3 ${house.write("late.py", source)}`];
}

/** The sockets to the server that the page opens, each with the first message sent there. */
function socketsOf(page: Page): { url: string; first: Record<string, unknown> | null }[] {
  const sockets: ReturnType<typeof socketsOf> = [];
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

/** Makes the first cell, runs it, and waits for what it shows. */
async function runOne(page: Page): Promise<void> {
  await page.getByRole("toolbar", { name: "Notebook" }).getByRole("button", { name: "Code" }).click();
  await typeInto(page, 0, "6 * 7");
  await runHere(page);
  await expect(cell(page, 0).getByText("42", { exact: true })).toBeVisible();
}

test("under vite dev with EVAL_SANDBOX=1 the page connects by itself, straight to the server", async ({
  page,
  house,
  vite,
}) => {
  const server = await house.serve([...lateAgent(house), "--origin", vite.url]);
  await vite.start(server, "1");
  const logged: string[] = [];
  page.on("console", (message) => logged.push(message.text()));
  const sockets = socketsOf(page);
  await page.goto(vite.url);
  await expect(page.getByText("Connecting…")).toBeVisible(firstPage); // not where the session is
  house.write("go", "");
  await isConnected(page);
  await runOne(page);
  await expect(page.getByLabel("Token")).toHaveCount(0);
  expect(logged).toContain("[AgentConnection] Connected");
  const ws = server.url.replace("http:", "ws:");
  const [run, agent] = sockets.slice(-2);
  expect(run).toMatchObject({ url: `${ws}/run`, first: { token: "local-dev-token" } });
  expect(agent).toMatchObject({ url: `${ws}/agent`, first: { type: "init" } });
});

test("under vite dev without EVAL_SANDBOX the page asks for the token and tells where the session is", async ({
  page,
  house,
  vite,
}) => {
  const args = [...lateAgent(house), "--token", "hush", "--origin", vite.url];
  const server = await house.serve(args, { EVAL_SANDBOX: "" });
  await vite.start(server, "");
  const sockets = socketsOf(page);
  await page.goto(vite.url);
  await page.getByLabel("Token").fill("hush", firstPage);
  expect(sockets).toEqual([]);
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByText("Starting the kernel and the agent…")).toBeVisible();
  house.write("go", "");
  await isConnected(page);
  await runOne(page);
  expect(sockets.at(-2)?.first).toMatchObject({ token: "hush" });
});

test("under vite dev the page says what is wrong with the server: there is none, or it does not let the page in", async ({
  page,
  house,
  vite,
}) => {
  const server = await house.serve(["--agent", "noop"]);
  await vite.start(server, "1");
  await page.goto(vite.url);
  const alert = page.getByRole("alert");
  await expect(alert).toContainText(`pages of ${vite.url} are not let in; --origin lists`, firstPage);
  await server.stop();
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(alert).toContainText(`No server at ${server.url}`);
  const other = await house.serve([
    "--agent",
    "noop",
    "--addr",
    server.url.replace("http://", ""),
    "--origin",
    vite.url,
  ]);
  expect(other.url).toBe(server.url);
  await page.getByRole("button", { name: "Try again" }).click();
  await isConnected(page);
});

test("under vite dev the mode is that of Vite: a server in another one refuses the page, which says so", async ({
  page,
  house,
  vite,
}) => {
  const server = await house.serve(["--agent", "noop", "--token", "hush", "--origin", vite.url], { EVAL_SANDBOX: "" });
  await vite.start(server, "1");
  await page.goto(vite.url);
  const told = page.getByText("The server has refused this connection. The server says: wrong token.");
  await expect(told).toBeVisible(firstPage);
  await expect(page.getByLabel("Token")).toHaveCount(0);
});

test("a build knows nothing of EVAL_SANDBOX and ASSAY_URL", async ({ house }) => {
  const build = (to: string, env: Record<string, string>) => {
    const args = [vitePath, "build", "--logLevel", "warn", "--outDir", join(house.dir, to), "--emptyOutDir"];
    execFileSync(process.execPath, args, { env: { ...environment(), ...env }, stdio: "pipe", timeout: 80_000 });
    const files = readdirSync(join(house.dir, to), { recursive: true, withFileTypes: true }).filter((f) => f.isFile());
    const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
    return paths.map((path) => [relative(join(house.dir, to), path), readFileSync(path, "utf8")]);
  };
  const plain = build("plain", { EVAL_SANDBOX: "", ASSAY_URL: "" });
  const told = build("told", { EVAL_SANDBOX: "1", ASSAY_URL: "http://localhost:1" });
  expect(plain.length).toBeGreaterThan(3);
  expect(told.map(([name]) => name)).toEqual(plain.map(([name]) => name));
  expect(JSON.stringify(told) === JSON.stringify(plain)).toBe(true);
});
