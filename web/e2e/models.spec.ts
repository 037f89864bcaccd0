import type { Page } from "@playwright/test";
import { type AssayHarness, expect, harnessTest, readTrace, sumCase, sumReplies } from "./assay";

const attemptName = "0001-sum-e1-t1";

/** Runs sumCase with the built-in agent and a scripted model, and opens the page of the attempt. */
async function runAndOpenAttempt(page: Page, harness: AssayHarness): Promise<void> {
  const model = harness.writeModelScript(...sumReplies(120));
  const args = ["run", harness.writeCase(sumCase), "--agent", "builtin", "--model", model, "--out", "runs/good"];
  expect(await harness.runAssay(args)).toBe(0);
  const server = await harness.startServer(["--agent", "noop", "--headless"]);
  await page.goto(`${server.url}/runs/good/${attemptName}`);
}

/** Saves a picture of the page at a width if MODEL_SHOTS names a folder for them. */
async function saveScreenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.MODEL_SHOTS;
  if (folder === undefined) return;
  for (const width of [1280, 800]) {
    await page.setViewportSize({ width, height: 860 });
    await page.waitForTimeout(300);
    await page.screenshot({ path: `${folder}/${name}-${width}.png` });
  }
  await page.setViewportSize({ width: 1280, height: 860 });
}

harnessTest(
  "the calls of models have a lane among the messages, and show the whole request",
  async ({ page, harness }) => {
    await runAndOpenAttempt(page, harness);
    await page.getByRole("tab", { name: "Flow" }).click();
    const frames = page.getByRole("listbox", { name: "Messages" });
    await page.getByLabel("Filter by").selectOption("hop");
    await page.getByLabel("Hop", { exact: true }).selectOption("agent>model");
    await expect(frames.getByRole("option")).toHaveCount(3);
    await expect(frames.getByText("model", { exact: true })).toBeVisible();
    const second = frames.getByRole("option").nth(1);
    await expect(second.getByRole("img", { name: "agent to model" })).toBeVisible();
    await expect(second).toContainText(
      /model_call messages assay model_2 ?answered in \d+\.\dms, \d+ tokens in, \d+ out, cost unknown: model/,
    );
    await page.getByRole("button", { name: /Remove filter: Hop/ }).click();
    await saveScreenshot(page, "messages");
    await frames.getByRole("option").filter({ hasText: "model_call messages assay model_2" }).click();
    const panel = page.getByRole("region", { name: /^Entry/ });
    await expect(panel).toContainText(/call 1 has the same: the first message, .*tools/);
    await expect(panel).not.toContainText("Sum the whole numbers");
    await panel.getByRole("button", { name: "Show the whole request" }).click();
    await panel.getByRole("button", { name: /request: / }).click();
    await panel.getByRole("button", { name: /messages: / }).click();
    await expect(panel.getByRole("button", { name: /0: / })).toBeVisible();
    await saveScreenshot(page, "entry");
  },
);

harnessTest("a session without calls of models has no lane for them", async ({ page, harness }) => {
  await harness.runAssay(["run", harness.writeCase(sumCase), "--agent", "noop", "--out", "runs/idle"]);
  const server = await harness.startServer(["--agent", "noop", "--headless"]);
  await page.goto(`${server.url}/runs/idle/${attemptName}?tab=flow`);
  const frames = page.getByRole("listbox", { name: "Messages" });
  await expect(frames.getByText("kernel", { exact: true })).toBeVisible();
  await expect(frames.getByText("model", { exact: true })).toHaveCount(0);
});

harnessTest(
  "each message of the agent has its tokens, cost and time, and the overview the sum",
  async ({ page, harness }) => {
    await runAndOpenAttempt(page, harness);
    await expect(page.getByRole("region", { name: "What the agent waited for" })).toContainText(/models \d+ ms/);
    await saveScreenshot(page, "overview");
    await page.getByRole("tab", { name: "Conversation" }).click();
    await expect(page.getByText("It is 45.")).toBeVisible();
    await expect(page.getByText(/^tokens \d+ in, \d+ out · cost unknown · \d+ ms$/)).toHaveCount(3);
    await expect(page.getByText("tokens 900 in, 40 out · cost unknown")).toBeVisible();
    const calls = readTrace(`${harness.dir}/runs/good/attempts/${attemptName}/trace.jsonl`).filter(
      ({ type }) => type === "model_reply",
    );
    expect(calls).toHaveLength(3);
    const totals = page.getByLabel("All calls of models");
    await expect(totals).toContainText("Calls of models3");
    await expect(totals).toContainText("Costunknown");
    await expect(totals).toContainText(/Model time\d+ ms/);
    await expect(page.getByText("$0.00")).toHaveCount(0);
    await saveScreenshot(page, "conversation");
  },
);
