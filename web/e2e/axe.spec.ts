import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import {
  type AssayHarness,
  type AssayServer,
  addCell,
  expect,
  harnessTest,
  openConsole,
  runFocusedCell,
  sumCase,
  sumReplies,
} from "./assay";

/** The source code of axe-core, which the tests evaluate in the page. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** An accessibility violation that axe-core reports, with the elements that have it. */
interface AxeViolation {
  id: string;
  impact: string | null;
  nodes: { target: unknown; failureSummary?: string }[];
}

/** Returns axe-core's serious and critical violations in the current page, as "rule: elements". */
async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource); // through the debugger, to which the page's policy does not apply
  const findings = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run(): Promise<{ violations: AxeViolation[] }> } };
    return (await axe.run()).violations;
  });
  return findings
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => String(target)).join(" | ")}`);
}

const attemptPath = "/runs/good/0001-sum-e1-t1";
const comparisonPath = "/compare?a=good/0001-sum-e1-t1&b=idle/0001-sum-e1-t1";
/** Paths of pages whose content is in tabs, each of which is checked. */
const tabbedPagePaths = [attemptPath, comparisonPath];

/** Waits until the page has a heading and no "Loading" text. */
async function waitUntilLoaded(page: Page): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByText(/^Loading/)).toHaveCount(0);
}

/** Makes the runs "good" and "idle" and starts a server; returns it with the paths of pages about the runs. */
async function createRunsAndServe(harness: AssayHarness): Promise<[AssayServer, string[]]> {
  const model = harness.writeModelScript(...sumReplies(20));
  await harness.runAssay(["run", harness.writeCase(sumCase), "--model", model, "--out", "runs/good"]);
  await harness.runAssay(["run", harness.writeCase(sumCase), "--agent", "noop", "--out", "runs/idle"]);
  const server = await harness.startServer([
    "--agent",
    "builtin",
    "--model",
    harness.writeModelScript(...sumReplies(20)),
  ]);
  return [server, ["/runs", "/runs/good", attemptPath, comparisonPath]];
}

for (const scheme of ["light", "dark"] as const) {
  harnessTest(
    `axe finds no serious accessibility violation on any page in the ${scheme} theme`,
    async ({ page, harness }) => {
      harnessTest.setTimeout(120_000);
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      const [server, viewer] = await createRunsAndServe(harness);
      await openConsole(page, server);
      await page.getByLabel("Ask the agent").fill("Do it.");
      await page.keyboard.press("Enter");
      await expect(page.getByText("It is 45.")).toBeVisible();
      await addCell(page, "from assay import *\nw_slider('At least', min=0, max=9)\nw_text_input('Name')\n1/0");
      await runFocusedCell(page);
      await expect(page.getByText("ZeroDivisionError").first()).toBeVisible();
      expect(await seriousViolations(page)).toEqual([]);
      for (const tab of ["Variables", "Graph"]) {
        await page.getByRole("tab", { name: tab }).click();
        await expect(page.getByRole("tabpanel")).toContainText(/total|slider/);
        expect(await seriousViolations(page)).toEqual([]);
      }
      for (const path of viewer) {
        await page.goto(server.url + path);
        await waitUntilLoaded(page);
        if (tabbedPagePaths.includes(path)) await expect(page.getByRole("tab").first()).toBeVisible();
        const tabs = await page.getByRole("tab").allInnerTexts();
        if (tabs.length === 0) expect(await seriousViolations(page)).toEqual([]);
        for (const tab of tabs) {
          await page.getByRole("tab", { name: tab }).click();
          await expect(page.getByRole("tabpanel")).not.toBeEmpty();
          await waitUntilLoaded(page);
          expect(await seriousViolations(page)).toEqual([]);
        }
      }
    },
  );
}

harnessTest(
  "axe finds no serious violation while a person works, and a narrow window does not scroll",
  async ({ page, harness }) => {
    await page.emulateMedia({ reducedMotion: "reduce" });
    const cases = harness.writeFile("cases.json", JSON.stringify([sumCase, { ...sumCase, id: "again" }]));
    const server = await harness.startServer(["--agent", "human", "--person", "ada", "--case", cases]);
    const requireGoodPage = async () => {
      expect(await seriousViolations(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(
        0,
      );
    };
    await openConsole(page, server);
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 800 });
      await requireGoodPage();
      await page.getByRole("button", { name: "Start", exact: true }).click();
      await page.getByRole("textbox", { name: "Answer" }).fill("{'a': 1}");
      await page.getByRole("button", { name: "Submit…" }).click();
      await expect(page.getByRole("alert")).toBeVisible();
      await requireGoodPage();
      await page.getByRole("button", { name: "Give up…" }).click();
      await requireGoodPage();
      if (width === 400) await page.keyboard.press("Escape"); // the question
      if (width === 400)
        await page.keyboard.press("Escape"); // the panel
      else await page.getByRole("dialog").getByRole("button", { name: "Give up", exact: true }).click();
      if (width === 1280) await expect(page.getByRole("heading", { name: "Next case: again" })).toBeVisible();
    }
    await expect(page.getByRole("button", { name: "Task and answer" })).toBeVisible();
    await requireGoodPage();
  },
);

harnessTest("no page scrolls horizontally in a narrow window", async ({ page, harness }) => {
  harnessTest.setTimeout(120_000);
  await page.emulateMedia({ reducedMotion: "reduce" });
  const [server, viewer] = await createRunsAndServe(harness);
  for (const width of [800, 400]) {
    await page.setViewportSize({ width, height: 800 });
    for (const path of ["/", ...viewer]) {
      await page.goto(server.url + path);
      await waitUntilLoaded(page);
      const overflowPx = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(overflowPx, `${path} at ${width}`).toBeLessThanOrEqual(0);
    }
  }
});
