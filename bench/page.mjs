// Measures the page in a browser: node page.mjs ASSAY CHROMIUM, the paths of both
// executables. Prints one JSON object, times in milliseconds and sizes in bytes. Pages
// are measured in turns.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";

const { chromium } = createRequire(new URL("../web/package.json", import.meta.url))("@playwright/test");
const [assay, executablePath] = process.argv.slice(2);
const rounds = 7;
const dir = mkdtempSync(join(tmpdir(), "assay-bench-"));
const env = { ...process.env, EVAL_SANDBOX: "1" };

const largeCase = {
  id: "big",
  task: "Show much.",
  grader: { type: "exact", config: { ground_truth: { n: 1 } } },
  oracle: ["h = display(0, display_id=True)\nfor i in range(99_000):\n    h.update(i)", `print('{"n": 1}')`],
};
writeFileSync(join(dir, "big.json"), JSON.stringify(largeCase));
execFileSync(assay, ["run", "big.json", "--agent", "oracle", "--out", "runs/big"], { cwd: dir, stdio: "ignore" });

const args = ["serve", "--addr", "localhost:0", "--agent", "noop", "--headless", "--runs", "runs", "--log", "error"];
const server = spawn(assay, args, { cwd: dir, env, stdio: ["ignore", "ignore", "pipe"] });
const url = await new Promise((resolve, reject) => {
  server.on("exit", reject);
  createInterface({ input: server.stderr }).on("line", (line) => {
    const [, found] = line.split("serving at ");
    if (found) resolve(found);
  });
});
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
const browser = await chromium.launch({ executablePath, args: [...flags, "--disable-component-update", "--disable-sync"] });

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const percentile = (values, p) => values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * p) - 1)];

/**
 * Opens a page with an empty cache. Returns the milliseconds to its first paint and until it is
 * ready, and the resources that it loaded. Ready means that the selector ready.has matches, or that
 * the page's text matches the expression ready.says.
 */
async function openPage(path, ready) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const began = Date.now();
  await page.goto(url + path, { waitUntil: "commit" });
  await page.waitForFunction(
    ({ says, has }) => (has ? document.querySelector(has) !== null : new RegExp(says, "m").test(document.body?.innerText)),
    ready,
    { polling: "raf" },
  );
  const seen = Date.now() - began;
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1);
  const loaded = await page.evaluate(() => performance.getEntriesByType("resource").map((r) => [r.name, r.startTime]));
  await context.close();
  return { paint, seen, loaded };
}

const pages = [
  { name: "a text file of the server", path: "/healthz", ready: { has: "pre" } },
  { name: "the console", path: "/", ready: { says: "^connected$" } },
  { name: "an attempt, 99,000 entries", path: "/runs/big/0001-big-e1-t1", ready: { says: "Show much" } },
  { name: "its notebook", path: "/runs/big/0001-big-e1-t1?tab=notebook", ready: { has: "[data-cell]" } },
  { name: "its Flow tab", path: "/runs/big/0001-big-e1-t1?tab=flow", ready: { has: "[role=listbox] [role=option]" } },
];
for (const page of pages) page.times = [];
for (let round = 0; round < rounds; round++) for (const page of pages) page.times.push(await openPage(page.path, page.ready));

/** Returns the sum of the gzipped sizes of assets, in bytes. */
async function gzippedSize(assets) {
  let bytes = 0;
  for (const [name] of assets) bytes += gzipSync(Buffer.from(await (await fetch(name)).arrayBuffer())).length;
  return bytes;
}
const [opened] = pages[1].times;
const assets = opened.loaded.filter(([name]) => name.includes("/assets/"));
const before = assets.filter(([, start]) => start < opened.paint);
const first = { bytes: await gzippedSize(before), later: await gzippedSize(assets.filter((asset) => !before.includes(asset))) };

/** Types 120 keys into the last cell. Returns the milliseconds from each key press to the next frame. */
async function typingLatencies(page, streams) {
  if (streams) await page.locator("[data-cell]").first().getByRole("button", { name: "Run the cell" }).click();
  await page.locator("[data-cell] .cm-content").last().click();
  await page.evaluate(() => {
    window.latencies = [];
    addEventListener("keydown", (event) => {
      requestAnimationFrame(() => setTimeout(() => window.latencies.push(performance.now() - event.timeStamp)));
    }, { capture: true });
  });
  for (let i = 0; i < 120; i++) await page.keyboard.type("x", { delay: 25 });
  return page.evaluate(() => window.latencies.splice(0));
}
const context = await browser.newContext();
const page = await context.newPage();
await page.goto(url);
await page.waitForSelector("text=/^connected$/");
const addCell = async (text) => {
  await page.getByRole("toolbar", { name: "Notebook" }).getByRole("button", { name: "Code" }).click();
  await page.locator("[data-cell]").last().click();
  await page.keyboard.press("Enter");
  await page.keyboard.insertText(text);
  await page.waitForTimeout(800);
};
await addCell("import time\nfor i in range(10_000):\n    print('line', i, flush=True)\n    if i % 10 == 0: time.sleep(0.003)");
await addCell("x = ");
const idle = [];
const streaming = [];
for (let round = 0; round < 3; round++) {
  idle.push(...(await typingLatencies(page, false)));
  await page.locator("[data-cell]").first().hover();
  streaming.push(...(await typingLatencies(page, true)));
  await page.waitForTimeout(3000);
}
await browser.close();
server.kill();
rmSync(dir, { recursive: true, force: true });

const pageTimes = pages.map(({ name, times }) => ({
  name,
  paint: median(times.map(({ paint }) => paint)),
  seen: median(times.map(({ seen }) => seen)),
  worst: Math.max(...times.map(({ paint }) => paint)),
}));
const latency = (values) => ({ p50: percentile(values, 0.5), p95: percentile(values, 0.95), max: Math.max(...values) });
console.log(JSON.stringify({
  pages: pageTimes,
  typing: { idle: latency(idle), streaming: latency(streaming) },
  first,
}));
