import {
  addCell,
  expect,
  harnessTest,
  locateCellAt,
  openConsole,
  replaceCellText,
  runFocusedCell,
  scriptedToolCall,
  sumCase,
  sumReplies,
} from "./assay";

harnessTest("the agent solves a case while the user edits another cell", async ({ page, harness }) => {
  // The last reply is delayed by 12 s, so that the typed text is stored before the attempt ends.
  const replies = sumReplies(1500).map((reply, i) => (i === 2 ? { ...reply, delay_ms: 12_000 } : reply));
  const model = harness.writeModelScript(...replies);
  const server = await harness.startServer([
    "--agent",
    "builtin",
    "--model",
    model,
    "--case",
    harness.writeCase(sumCase),
  ]);
  const logged: string[] = [];
  page.on("console", (message) => logged.push(message.text()));
  await openConsole(page, server);
  await expect(page.getByRole("region", { name: "Case" })).toContainText("left");

  await addCell(page, "");
  for (const letter of "mine = 'typed while it works'") await page.keyboard.type(letter, { delay: 60 });
  const agentCell = page.locator("[data-cell]").filter({ hasText: "sum(range(10))" });
  await expect(agentCell.getByText("agent")).toBeVisible();
  await expect(agentCell.getByText("45", { exact: true })).toBeVisible();
  const mine = page.locator("[data-cell]").filter({ hasText: "mine = 'typed while it works'" });
  await expect(mine).toBeVisible();

  const verdict = page.getByRole("region", { name: "Verdict" });
  await expect(verdict.getByText("Passed", { exact: true })).toBeVisible();
  await expect(verdict.getByText("exact", { exact: true })).toBeVisible();
  await expect(page.getByText("It is 45.")).toBeVisible();
  expect(logged).toContain("[AgentConnection] Connected");

  // The server's notebook is the same as the one on screen.
  const edits = (await server.readTrace()).filter(({ hop, msg }) => hop === "notebook" && msg?.event === "cell_edited");
  expect(edits.some(({ msg }) => msg?.by === "console" && msg?.source === "mine = 'typed while it works'")).toBe(true);
  expect(edits.some(({ msg }) => msg?.by === "agent")).toBe(true);
});

harnessTest("Jupyter's keys run, move, delete and restore cells", async ({ page, harness }) => {
  const server = await harness.startServer(["--agent", "noop"]);
  await openConsole(page, server);
  await addCell(page, "a = 20");
  await page.keyboard.press("Shift+Enter");
  await expect(locateCellAt(page, 1).getByRole("textbox")).toBeFocused();
  await page.keyboard.insertText("print('printed')\na + 22");
  await runFocusedCell(page);
  await expect(locateCellAt(page, 1).getByText("42", { exact: true })).toBeVisible();
  await expect(locateCellAt(page, 1).getByText("printed", { exact: true })).toBeVisible();

  await page.keyboard.press("Escape");
  await page.keyboard.press("a");
  await expect(locateCellAt(page, 2)).toBeVisible();
  await expect(page.getByRole("listitem", { name: "Code cell 2" })).toBeFocused();
  await page.keyboard.press("m");
  await expect(page.getByRole("listitem", { name: "Markdown cell 2" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(locateCellAt(page, 1).getByRole("textbox")).toBeFocused(); // insertText is no key, so the page does not keep it
  await page.keyboard.insertText("# A *title*");
  await page.keyboard.press("Shift+Enter");
  await expect(page.getByRole("heading", { name: "A title" })).toBeVisible();

  await page.keyboard.press("Escape");
  await locateCellAt(page, 0).click({ position: { x: 5, y: 5 } });
  await page.keyboard.press("Escape");
  await page.keyboard.press("ControlOrMeta+Shift+ArrowDown");
  await expect(locateCellAt(page, 1)).toContainText("a = 20");
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

harnessTest(
  "an endless cell is stopped, and the queued cell shows that it waits and then runs",
  async ({ page, harness }) => {
    const server = await harness.startServer(["--agent", "noop"]);
    await openConsole(page, server);
    const busy = await addCell(page, "print('on and on')\nwhile True: pass");
    await runFocusedCell(page);
    await expect(locateCellAt(page, busy).getByText("on and on", { exact: true })).toBeVisible();
    const next = await addCell(page, "'after' + ' it'");
    await runFocusedCell(page);
    await expect(
      locateCellAt(page, next)
        .getByText(/waiting/i)
        .first(),
    ).toBeAttached();
    await locateCellAt(page, busy).hover();
    await locateCellAt(page, busy).getByRole("button", { name: "Stop the cell" }).click();
    await expect(locateCellAt(page, busy).getByText("KeyboardInterrupt").first()).toBeVisible();
    await expect(locateCellAt(page, next).getByText("'after it'", { exact: true })).toBeVisible();
  },
);

harnessTest("a reload during a run loses no output and runs nothing twice", async ({ page, harness }) => {
  const server = await harness.startServer(["--agent", "noop"]);
  await openConsole(page, server);
  const at = await addCell(page, "import time\nfor i in range(40):\n    print('line', i, flush=True); time.sleep(0.1)");
  await runFocusedCell(page);
  await expect(locateCellAt(page, at).getByText("line 3", { exact: true })).toBeVisible();
  await page.reload();
  await expect(locateCellAt(page, at).getByText("line 39", { exact: true })).toBeVisible();
  await expect(locateCellAt(page, at).getByText("line 0", { exact: true })).toBeVisible();
  await expect(locateCellAt(page, at).getByText("[1]", { exact: true })).toBeVisible();
  const runs = (await server.readTrace()).filter(({ hop, type }) => hop === "server>kernel" && type === "run_cell");
  expect(runs).toHaveLength(1);
});

harnessTest("two tabs show each other's changes at once", async ({ page, context, harness }) => {
  const server = await harness.startServer(["--agent", "noop"]);
  await openConsole(page, server);
  const other = await context.newPage();
  await openConsole(other, server);
  await addCell(page, "shared = 1");
  await expect(locateCellAt(other, 0)).toContainText("shared = 1");
  await replaceCellText(other, 0, "shared = 2\nshared + 40");
  await expect(locateCellAt(page, 0)).toContainText("shared = 2");
  await runFocusedCell(other);
  await expect(locateCellAt(page, 0).getByText("42", { exact: true })).toBeVisible();
});

harnessTest(
  "after the server was killed, the page shows that it is disconnected and sends the typed text when it is back",
  async ({ page, harness }) => {
    const server = await harness.startServer(["--agent", "noop"]);
    const logged: string[] = [];
    page.on("console", (message) => logged.push(message.text()));
    await openConsole(page, server);
    const at = await addCell(page, "kept = 'before'");
    await expect.poll(async () => JSON.stringify(await server.readTrace())).toContain("kept = 'before'");
    await server.stop("SIGKILL");
    await expect(page.getByText("disconnected", { exact: true })).toBeVisible();
    await replaceCellText(page, at, "kept = 'typed while it was away'");
    await server.start();
    await expect(page.getByText("connected", { exact: true }).first()).toBeVisible({ timeout: 30_000 });
    await expect(locateCellAt(page, at)).toContainText("typed while it was away");
    await expect.poll(async () => JSON.stringify(await server.readTrace())).toContain("typed while it was away");
    expect(logged.some((line) => line.startsWith("[AgentConnection] Disconnected"))).toBe(true);
  },
);

harnessTest("the user asks the agent, cancels a reply and restarts the agent", async ({ page, harness }) => {
  const model = harness.writeModelScript(
    { content: [{ type: "text", text: "Fine, thank you." }] },
    { delay_ms: 60_000, content: [{ type: "text", text: "Too late." }] },
  );
  const server = await harness.startServer(["--agent", "builtin", "--model", model]);
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

harnessTest(
  "an edit by the agent of a cell that the user is editing is offered as a conflict",
  async ({ page, harness }) => {
    const model = harness.writeModelScript(
      { content: [scriptedToolCall("create_cell", { position: 0, cell_type: "code", source: "x = 'agent 1'" })] },
      { delay_ms: 12_000, content: [scriptedToolCall("edit_cell", { cell_id: "$cell[0]", source: "x = 'agent 2'" })] },
      { content: [{ type: "text", text: "Done." }] },
    );
    const server = await harness.startServer(["--agent", "builtin", "--model", model]);
    await openConsole(page, server);
    await page.getByLabel("Ask the agent").fill("Go on.");
    await page.keyboard.press("Enter");
    await expect(locateCellAt(page, 0)).toContainText("agent 1");
    await replaceCellText(page, 0, "");
    // Typed by a script in the page, so that typing never pauses for long enough to be stored, even on a slow machine.
    const typing = await page.evaluate(() =>
      window.setInterval(() => document.execCommand("insertText", false, "z"), 50),
    );
    await expect(page.getByText("Done.")).toBeVisible();
    await page.evaluate((timer) => clearInterval(timer), typing);
    const conflict = locateCellAt(page, 0).getByRole("alert");
    await conflict.getByRole("button", { name: "Show their text" }).click();
    await expect(conflict).toContainText("x = 'agent 2'");
    await expect(locateCellAt(page, 0).getByRole("textbox")).toContainText("zzzzzzzzzz");
  },
);
