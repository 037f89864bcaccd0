import type { Locator } from "@playwright/test";
import { addCell, call, expect, openConsole, runHere, test } from "./assay";

async function onlyAction(flow: Locator, action: string): Promise<void> {
  await flow.getByLabel("Filter by").selectOption("action");
  await flow.getByLabel("Action", { exact: true }).fill(action);
  await flow.getByRole("button", { name: "Filter", exact: true }).click();
}

test("the flow of a late kernel: who was late, and its reply that came too late", async ({ page, house }) => {
  test.setTimeout(120_000);
  const model = house.script(
    { content: [call("request_globals_summary", {})] },
    { content: [{ type: "text", text: "Looked." }] },
  );
  const server = await house.serve(["--agent", "builtin", "--model", model]);
  await openConsole(page, server);
  await page.getByRole("button", { name: "Open messages" }).click();
  const flow = page.getByRole("region", { name: "Messages", exact: true });
  // PyDLL keeps the interpreter to itself while it sleeps: the kernel answers nothing. The
  // server waits 8 s for it, and what it is asked may come some seconds after it fell asleep.
  await addCell(page, "import ctypes\nctypes.PyDLL(None).sleep(15)\nprint('let go')");
  await runHere(page);
  await expect(flow.getByText("start_cell").first()).toBeVisible();
  await page.getByLabel("Ask the agent").fill("What is there?");
  await page.keyboard.press("Enter");
  await onlyAction(flow, "request_globals_summary");
  const frames = flow.getByRole("listbox", { name: "Messages" });
  await expect(frames.getByText(/late by/)).toBeVisible({ timeout: 60_000 });
  await expect(frames.getByRole("option")).toHaveCount(4); // asked, asked of the kernel, timed out, the late reply
  await expect(frames.getByRole("option").nth(2)).toContainText("timed out");
  await frames.getByRole("option").first().click();
  await expect(flow.getByRole("region", { name: /^Entry/ })).toContainText(/timed out after 8\.\d+s: kernel/);
});

test("an action is followed from the agent to its answer", async ({ page, house }) => {
  const model = house.script(
    { content: [call("create_cell", { position: 0, cell_type: "code", source: "6 * 7", auto_run: true })] },
    { content: [{ type: "text", text: "Done." }] },
  );
  const server = await house.serve(["--agent", "builtin", "--model", model]);
  await openConsole(page, server);
  await page.getByLabel("Ask the agent").fill("Go.");
  await page.keyboard.press("Enter");
  await expect(page.getByText("Done.")).toBeVisible();
  await page.getByRole("button", { name: "Open messages" }).click();
  const flow = page.getByRole("region", { name: "Messages", exact: true });
  await onlyAction(flow, "create_cell");
  await flow.getByRole("listbox", { name: "Messages" }).getByRole("option").first().click();
  await expect(flow.getByRole("region", { name: /^Entry/ })).toContainText("tx_id");
  await expect(flow.getByText(/answered in/).first()).toBeVisible();
});
