import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import { addCell, expect, type House, openConsole, runHere, type Server, sum, sumReplies, test } from "./assay";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Finding {
  id: string;
  impact: string | null;
  nodes: { target: unknown; failureSummary?: string }[];
}

/** What axe finds serious or critical in the page as it is. */
async function serious(page: Page): Promise<string[]> {
  await page.evaluate(axe); // by the debugger, which the page's policy does not concern
  const findings = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run(): Promise<{ violations: Finding[] }> } };
    return (await axe.run()).violations;
  });
  return findings
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => String(target)).join(" | ")}`);
}

const attempt = "/runs/good/0001-sum-e1-t1";
const compared = "/compare?a=good/0001-sum-e1-t1&b=idle/0001-sum-e1-t1";
const withTabs = [attempt, compared];

/** Waits until what the page has asked for is there. */
async function loaded(page: Page): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByText(/^Loading/)).toHaveCount(0);
}

async function pages(house: House): Promise<[Server, string[]]> {
  const model = house.script(...sumReplies(20));
  await house.run(["run", house.case(sum), "--model", model, "--out", "runs/good"]);
  await house.run(["run", house.case(sum), "--agent", "noop", "--out", "runs/idle"]);
  const server = await house.serve(["--agent", "builtin", "--model", house.script(...sumReplies(20))]);
  return [server, ["/runs", "/runs/good", attempt, compared]];
}

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious on any page, ${scheme}`, async ({ page, house }) => {
    test.setTimeout(120_000);
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    const [server, viewer] = await pages(house);
    await openConsole(page, server);
    await page.getByLabel("Ask the agent").fill("Do it.");
    await page.keyboard.press("Enter");
    await expect(page.getByText("It is 45.")).toBeVisible();
    await addCell(page, "from assay import *\nw_slider('At least', min=0, max=9)\nw_text_input('Name')\n1/0");
    await runHere(page);
    await expect(page.getByText("ZeroDivisionError").first()).toBeVisible();
    expect(await serious(page)).toEqual([]);
    for (const tab of ["Variables", "Graph"]) {
      await page.getByRole("tab", { name: tab }).click();
      await expect(page.getByRole("tabpanel")).toContainText(/total|slider/);
      expect(await serious(page)).toEqual([]);
    }
    for (const path of viewer) {
      await page.goto(server.url + path);
      await loaded(page);
      if (withTabs.includes(path)) await expect(page.getByRole("tab").first()).toBeVisible();
      const tabs = await page.getByRole("tab").allInnerTexts();
      if (tabs.length === 0) expect(await serious(page)).toEqual([]);
      for (const tab of tabs) {
        await page.getByRole("tab", { name: tab }).click();
        await expect(page.getByRole("tabpanel")).not.toBeEmpty();
        await loaded(page);
        expect(await serious(page)).toEqual([]);
      }
    }
  });

  test(`no page scrolls sideways when it is narrow, ${scheme}`, async ({ page, house }) => {
    test.setTimeout(120_000);
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    const [server, viewer] = await pages(house);
    for (const width of [800, 400]) {
      await page.setViewportSize({ width, height: 800 });
      for (const path of ["/", ...viewer]) {
        await page.goto(server.url + path);
        await loaded(page);
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect(beyond, `${path} at ${width}`).toBeLessThanOrEqual(0);
      }
    }
  });
}
