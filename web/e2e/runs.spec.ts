import { expect, harnessTest, readTrace, sumCase, sumReplies } from "./assay";

harnessTest(
  "the user opens a run from the list, reads an attempt, and compares two attempts",
  async ({ page, harness }) => {
    const file = harness.writeCase(sumCase);
    const model = harness.writeModelScript(...sumReplies(50));
    expect(await harness.runAssay(["run", file, "--model", model, "--out", "runs/good"])).toBe(0);
    expect(await harness.runAssay(["run", file, "--agent", "noop", "--out", "runs/idle"])).toBe(1);
    const server = await harness.startServer(["--agent", "noop", "--headless"]);
    await page.goto(`${server.url}/runs`);
    await expect(page.getByRole("link", { name: "idle" })).toBeVisible();
    await page.getByRole("link", { name: "good" }).click();
    await expect(page).toHaveURL(/\/runs\/good$/);
    await expect(page.getByRole("heading", { name: "good" })).toBeVisible();
    await page.getByRole("grid", { name: "Attempts" }).getByText("sum", { exact: true }).first().click();
    await expect(page).toHaveURL(/0001-sum-e1-t1/);
    await expect(page.getByRole("region", { name: "Verdict" }).getByText("Passed", { exact: true })).toBeVisible();
    await expect(page.getByText("Sum the whole numbers from 0 to 9").first()).toBeVisible();
    await page.getByRole("tab", { name: "Conversation" }).click();
    await expect(page.getByText("It is 45.")).toBeVisible();
    await page.getByRole("tab", { name: "Files" }).click();
    await expect(page.getByText("notebook.ipynb").first()).toBeVisible();
    await page.goBack();
    await page.goto(`${server.url}/compare?a=good/0001-sum-e1-t1&b=idle/0001-sum-e1-t1`);
    await expect(page.getByRole("list", { name: "Cells of both notebooks" })).toContainText("sum(range(10))");
  },
);

harnessTest("the timeline slider shows the notebook at an earlier entry", async ({ page, harness }) => {
  const model = harness.writeModelScript(...sumReplies(50));
  expect(await harness.runAssay(["run", harness.writeCase(sumCase), "--model", model, "--out", "runs/good"])).toBe(0);
  const entries = readTrace(`${harness.dir}/runs/good/attempts/0001-sum-e1-t1/trace.jsonl`);
  const created = entries.find(({ hop, msg }) => hop === "notebook" && msg?.event === "cell_created");
  const server = await harness.startServer(["--agent", "noop", "--headless"]);
  await page.goto(`${server.url}/runs/good/0001-sum-e1-t1`);
  await page.getByRole("tab", { name: "Notebook" }).click();
  const notebook = page.getByRole("region", { name: "Notebook" });
  await expect(notebook).toContainText("sum(range(10))");
  await expect(notebook.getByText("45", { exact: true })).toBeVisible();

  const slider = page.getByRole("slider", { name: "Entry of the trace" });
  await slider.focus();
  await page.keyboard.press("Home");
  await expect(notebook).not.toContainText("sum(range(10))");
  await slider.fill(String(created?.seq));
  await expect(notebook.getByText("totl", { exact: true })).toBeVisible();
  await expect(notebook).not.toContainText("NameError");
  await page.keyboard.press("End");
  await expect(notebook.getByText("45", { exact: true })).toBeVisible();
  await expect(notebook).not.toContainText("NameError");
});

harnessTest("the page follows an attempt that another process runs", async ({ page, harness }) => {
  // The second reply is delayed by 8 s, so that the error is still shown when the page is checked.
  const replies = sumReplies(500).map((reply, i) => (i === 1 ? { ...reply, delay_ms: 8000 } : reply));
  const model = harness.writeModelScript(...replies);
  const server = await harness.startServer(["--agent", "noop", "--headless"]);
  const run = harness.runAssay(["run", harness.writeCase(sumCase), "--model", model, "--out", "runs/live"]);
  await expect.poll(async () => (await fetch(`${server.url}/api/runs/live/attempts/0001-sum-e1-t1`)).status).toBe(200);
  await page.goto(`${server.url}/runs/live/0001-sum-e1-t1`);
  await page.getByRole("tab", { name: "Notebook" }).click();
  const notebook = page.getByRole("region", { name: "Notebook" });
  await expect(notebook).toContainText("NameError");
  await expect(notebook).toContainText("sum(range(10))");
  await page.getByRole("tab", { name: "Overview" }).click();
  await expect(page.getByRole("region", { name: "Verdict" }).getByText("Passed", { exact: true })).toBeVisible();
  expect(await run).toBe(0);
});
