import { addCell, call, cell, expect, openConsole, runHere, sum, sumReplies, test, typeInto } from "./assay";

test("a case is solved by the agent while a person edits another cell", async ({ page, house }) => {
  // The last reply takes long: what is written must be there before the attempt ends.
  const replies = sumReplies(1500).map((reply, i) => (i === 2 ? { ...reply, delay_ms: 6000 } : reply));
  const model = house.script(...replies);
  const server = await house.serve(["--agent", "builtin", "--model", model, "--case", house.case(sum)]);
  const logged: string[] = [];
  page.on("console", (message) => logged.push(message.text()));
  await openConsole(page, server);
  await expect(page.getByRole("region", { name: "Case" })).toContainText("left");

  await addCell(page, "");
  for (const letter of "mine = 'typed while it works'") await page.keyboard.type(letter, { delay: 60 });
  const agents = page.locator("[data-cell]").filter({ hasText: "sum(range(10))" });
  await expect(agents.getByText("agent")).toBeVisible();
  await expect(agents.getByText("45", { exact: true })).toBeVisible();
  const mine = page.locator("[data-cell]").filter({ hasText: "mine = 'typed while it works'" });
  await expect(mine).toBeVisible();

  const verdict = page.getByRole("region", { name: "Verdict" });
  await expect(verdict.getByText("Passed", { exact: true })).toBeVisible();
  await expect(verdict.getByText("exact", { exact: true })).toBeVisible();
  await expect(page.getByText("It is 45.")).toBeVisible();
  expect(logged).toContain("[AgentConnection] Connected");

  // The server's notebook is the one on the screen.
  const edits = (await server.trace()).filter(({ hop, msg }) => hop === "notebook" && msg?.event === "cell_edited");
  expect(edits.some(({ msg }) => msg?.by === "console" && msg?.source === "mine = 'typed while it works'")).toBe(true);
  expect(edits.some(({ msg }) => msg?.by === "agent")).toBe(true);
});

test("cells are run, stopped, reordered, deleted and brought back with Jupyter's keys", async ({ page, house }) => {
  const server = await house.serve(["--agent", "noop"]);
  await openConsole(page, server);
  await addCell(page, "a = 20");
  await page.keyboard.press("Shift+Enter");
  await expect(cell(page, 1).getByRole("textbox")).toBeFocused();
  await page.keyboard.insertText("print('told')\na + 22");
  await runHere(page);
  await expect(cell(page, 1).getByText("42", { exact: true })).toBeVisible();
  await expect(cell(page, 1).getByText("told", { exact: true })).toBeVisible();

  await page.keyboard.press("Escape");
  await page.keyboard.press("a");
  await expect(cell(page, 2)).toBeVisible();
  await expect(page.getByRole("listitem", { name: "Code cell 2" })).toBeFocused();
  await page.keyboard.press("m");
  await expect(page.getByRole("listitem", { name: "Markdown cell 2" })).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.insertText("# A *title*");
  await page.keyboard.press("Shift+Enter");
  await expect(page.getByRole("heading", { name: "A title" })).toBeVisible();

  await page.keyboard.press("Escape");
  await cell(page, 0).click({ position: { x: 5, y: 5 } });
  await page.keyboard.press("Escape");
  await page.keyboard.press("ControlOrMeta+Shift+ArrowDown");
  await expect(cell(page, 1)).toContainText("a = 20");
  await page.keyboard.press("d");
  await page.keyboard.press("d");
  await expect(page.getByText("a = 20")).toHaveCount(0);
  await page.keyboard.press("z");
  await expect(page.getByText("a = 20")).toBeVisible();

  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("Shift");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("a cell that runs for ever is stopped, and what waits behind it shows that it waits", async ({ page, house }) => {
  const server = await house.serve(["--agent", "noop"]);
  await openConsole(page, server);
  const busy = await addCell(page, "print('on and on')\nwhile True: pass");
  await runHere(page);
  await expect(cell(page, busy).getByText("on and on", { exact: true })).toBeVisible();
  const next = await addCell(page, "'after' + ' it'");
  await runHere(page);
  await expect(
    cell(page, next)
      .getByText(/waiting/i)
      .first(),
  ).toBeAttached();
  await cell(page, busy).hover();
  await cell(page, busy).getByRole("button", { name: "Stop the cell" }).click();
  await expect(cell(page, busy).getByText("KeyboardInterrupt").first()).toBeVisible();
  await expect(cell(page, next).getByText("'after it'", { exact: true })).toBeVisible();
});

test("a reload in the middle of a run loses nothing, and runs nothing twice", async ({ page, house }) => {
  const server = await house.serve(["--agent", "noop"]);
  await openConsole(page, server);
  const at = await addCell(page, "import time\nfor i in range(40):\n    print('line', i, flush=True); time.sleep(0.1)");
  await runHere(page);
  await expect(cell(page, at).getByText("line 3", { exact: true })).toBeVisible();
  await page.reload();
  await expect(cell(page, at).getByText("line 39", { exact: true })).toBeVisible();
  await expect(cell(page, at).getByText("line 0", { exact: true })).toBeVisible();
  await expect(cell(page, at).getByText("[1]", { exact: true })).toBeVisible();
  const runs = (await server.trace()).filter(({ hop, type }) => hop === "server>kernel" && type === "run_cell");
  expect(runs).toHaveLength(1);
});

test("a second tab shows what the first one does, as it happens", async ({ page, context, house }) => {
  const server = await house.serve(["--agent", "noop"]);
  await openConsole(page, server);
  const other = await context.newPage();
  await openConsole(other, server);
  await addCell(page, "shared = 1");
  await expect(cell(other, 0)).toContainText("shared = 1");
  await typeInto(other, 0, "shared = 2\nshared + 40");
  await expect(cell(page, 0)).toContainText("shared = 2");
  await runHere(other);
  await expect(cell(page, 0).getByText("42", { exact: true })).toBeVisible();
});

test("when the server is killed the page says so, keeps what is typed, and goes on from there", async ({
  page,
  house,
}) => {
  const server = await house.serve(["--agent", "noop"]);
  const logged: string[] = [];
  page.on("console", (message) => logged.push(message.text()));
  await openConsole(page, server);
  const at = await addCell(page, "kept = 'before'");
  await expect.poll(async () => JSON.stringify(await server.trace())).toContain("kept = 'before'");
  await server.stop("SIGKILL");
  await expect(page.getByText("disconnected", { exact: true })).toBeVisible();
  await typeInto(page, at, "kept = 'typed while it was away'");
  await server.start();
  await expect(page.getByText("connected", { exact: true }).first()).toBeVisible({ timeout: 30_000 });
  await expect(cell(page, at)).toContainText("typed while it was away");
  await expect.poll(async () => JSON.stringify(await server.trace())).toContain("typed while it was away");
  expect(logged.some((line) => line.startsWith("[AgentConnection] Disconnected"))).toBe(true);
});

test("the agent is asked, answers, is cancelled and restarted", async ({ page, house }) => {
  const model = house.script(
    { content: [{ type: "text", text: "Fine, thank you." }] },
    { delay_ms: 60_000, content: [{ type: "text", text: "Too late." }] },
  );
  const server = await house.serve(["--agent", "builtin", "--model", model]);
  await openConsole(page, server);
  const ask = page.getByLabel("Ask the agent");
  await ask.fill("How are you?");
  await ask.press("Enter");
  await expect(page.getByText("Fine, thank you.")).toBeVisible();
  await expect(page.getByText("How are you?")).toBeVisible();
  await ask.fill("And now?");
  await ask.press("Enter");
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByText(/cancelled/i).first()).toBeVisible();
  await page.getByRole("button", { name: /Restart agent/ }).click();
  await expect(page.getByText("Agent: ready")).toBeAttached();
});

test("what the agent wrote into a cell that a person was editing is shown beside it", async ({ page, house }) => {
  const model = house.script(
    { content: [call("create_cell", { position: 0, cell_type: "code", source: "x = 'agent 1'" })] },
    { delay_ms: 6000, content: [call("edit_cell", { cell_id: "$cell[0]", source: "x = 'agent 2'" })] },
    { content: [{ type: "text", text: "Done." }] },
  );
  const server = await house.serve(["--agent", "builtin", "--model", model]);
  await openConsole(page, server);
  await page.getByLabel("Ask the agent").fill("Go on.");
  await page.keyboard.press("Enter");
  await expect(cell(page, 0)).toContainText("agent 1");
  await typeInto(page, 0, "");
  // Typed in the page itself, so that it never pauses, and is not stored, however slow the machine is.
  const typing = await page.evaluate(() =>
    window.setInterval(() => document.execCommand("insertText", false, "z"), 50),
  );
  await expect(page.getByText("Done.")).toBeVisible();
  await page.evaluate((timer) => clearInterval(timer), typing);
  const conflict = cell(page, 0).getByRole("alert");
  await conflict.getByRole("button", { name: "Show their text" }).click();
  await expect(conflict).toContainText("x = 'agent 2'");
  await expect(cell(page, 0).getByRole("textbox")).toContainText("zzzzzzzzzz");
});
