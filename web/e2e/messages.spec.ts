import { execFileSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import type { Locator } from "@playwright/test";
import { addCell, expect, harnessTest, openConsole, runFocusedCell, scriptedToolCall } from "./assay";

/** Filters the messages by an action. flow is the messages region. */
async function filterMessagesByAction(flow: Locator, action: string): Promise<void> {
  await flow.getByLabel("Filter by").selectOption("action");
  await flow.getByLabel("Action", { exact: true }).fill(action);
  await flow.getByRole("button", { name: "Filter", exact: true }).click();
}

harnessTest(
  "the messages show that the kernel timed out and that its late reply was discarded",
  async ({ page, harness }) => {
    harnessTest.setTimeout(120_000);
    const model = harness.writeModelScript(
      { content: [scriptedToolCall("request_globals_summary", {})] },
      { content: [{ type: "text", text: "Looked." }] },
    );
    const gate = join(harness.dir, "gate");
    execFileSync("mkfifo", [gate]);
    const server = await harness.startServer(["--agent", "builtin", "--model", model, "--sandbox-read", gate]);
    await openConsole(page, server);
    await page.getByRole("button", { name: "Open messages" }).click();
    const flow = page.getByRole("region", { name: "Messages", exact: true });
    // ctypes.PyDLL holds the interpreter lock while it waits for somebody to open the other end, so the
    // kernel answers nothing. The server waits 8 s for an answer.
    await addCell(page, `import ctypes\nctypes.PyDLL(None).open(${JSON.stringify(gate)}.encode(), 0)\nprint('awake')`);
    await runFocusedCell(page);
    await expect(flow.getByText("start_cell").first()).toBeVisible();
    await page.getByLabel("Ask the agent").fill("What is there?");
    await page.keyboard.press("Enter");
    await filterMessagesByAction(flow, "request_globals_summary");
    const frames = flow.getByRole("listbox", { name: "Messages" });
    await expect(frames.getByText("timed out").first()).toBeVisible({ timeout: 60_000 });
    closeSync(openSync(gate, "w"));
    await expect(frames.getByText(/late by/)).toBeVisible({ timeout: 60_000 });
    await expect(frames.getByRole("option")).toHaveCount(4); // request, request to the kernel, timeout, late reply
    await expect(frames.getByRole("option").nth(2)).toContainText("timed out");
    await frames.getByRole("option").first().click();
    await expect(flow.getByRole("region", { name: /^Entry/ })).toContainText(/timed out after 8\.\d+s: kernel/);
  },
);

harnessTest("an action of the agent is shown with its details and its answer", async ({ page, harness }) => {
  const model = harness.writeModelScript(
    { content: [scriptedToolCall("create_cell", { position: 0, cell_type: "code", source: "6 * 7", auto_run: true })] },
    { content: [{ type: "text", text: "Done." }] },
  );
  const server = await harness.startServer(["--agent", "builtin", "--model", model]);
  await openConsole(page, server);
  await page.getByLabel("Ask the agent").fill("Go.");
  await page.keyboard.press("Enter");
  await expect(page.getByText("Done.")).toBeVisible();
  await page.getByRole("button", { name: "Open messages" }).click();
  const flow = page.getByRole("region", { name: "Messages", exact: true });
  await filterMessagesByAction(flow, "create_cell");
  await flow.getByRole("listbox", { name: "Messages" }).getByRole("option").first().click();
  await expect(flow.getByRole("region", { name: /^Entry/ })).toContainText("tx_id");
  await expect(flow.getByText(/answered in/).first()).toBeVisible();
});
