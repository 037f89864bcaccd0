import { addCell, expect, harnessTest, locateCellAt, openConsole, runFocusedCell, scriptedToolCall } from "./assay";

harnessTest(
  "a notebook of 2,000 cells opens with only some of them drawn, scrolls, runs and is searched",
  async ({ page, harness }) => {
    harnessTest.setTimeout(120_000);
    const create = (position: number) =>
      scriptedToolCall("create_cell", {
        position,
        cell_type: "code",
        source: `x${position} = ${position}\nx${position} + 1`,
      });
    const reply = (_: unknown, i: number) => ({ content: Array.from({ length: 100 }, (_, j) => create(100 * i + j)) });
    const model = harness.writeModelScript(...Array.from({ length: 20 }, reply), {
      content: [{ type: "text", text: "All made." }],
    });
    const server = await harness.startServer(["--agent", "builtin", "--model", model, "--actions", "5000"]);
    await openConsole(page, server);
    await page.getByLabel("Ask the agent").fill("Make them.");
    await page.keyboard.press("Enter");
    await expect(page.getByText("All made.")).toBeVisible({ timeout: 60_000 });
    await page.reload();
    await expect(locateCellAt(page, 0)).toContainText("x0 = 0");
    expect(await page.locator("[data-cell]").count()).toBeLessThan(100); // those on screen and some around them
    await expect(locateCellAt(page, 0)).toHaveAttribute("aria-setsize", "2000");
    await locateCellAt(page, 0).click({ position: { x: 5, y: 5 } });
    await page.keyboard.press("Escape");
    await page.keyboard.press("End");
    await expect(locateCellAt(page, 1999)).toContainText("x1999 = 1999");
    await locateCellAt(page, 1999).click({ position: { x: 5, y: 5 } });
    await page.keyboard.press("Enter");
    await runFocusedCell(page);
    await expect(locateCellAt(page, 1999).getByText("2000", { exact: true })).toBeVisible();

    await page.keyboard.press("b");
    await page.keyboard.press("Enter");
    await expect(locateCellAt(page, 2000).getByRole("textbox")).toBeFocused();
    await page.keyboard.insertText("print('nee' + 'dle')");
    await runFocusedCell(page);
    const printed = locateCellAt(page, 2000).getByText("needle", { exact: true });
    await expect(printed).toBeVisible();
    await page.keyboard.press("Home");
    await expect(locateCellAt(page, 0)).toBeFocused();
    await page.keyboard.press("ControlOrMeta+f");
    await page.getByLabel("Find in all cells").fill("NEEDLE");
    await page.keyboard.press("Enter");
    await expect(page.getByText("1 of 1")).toBeVisible();
    await expect(printed).toBeInViewport();
    await expect
      .poll(() => page.evaluate(() => [...(CSS.highlights.get("found") ?? [])].map(String)))
      .toEqual(["needle"]);
  },
);

harnessTest(
  "50 MiB of output do not block the page, and the first and last lines can be read",
  async ({ page, harness }) => {
    harnessTest.setTimeout(120_000);
    const server = await harness.startServer(["--agent", "noop"]);
    await openConsole(page, server);
    // The kernel keeps at most 10 MiB of output per run, so six cells are needed.
    const cells = 6;
    for (let at = 0; at < cells; at++) {
      await addCell(page, `for i in range(86_000):\n    print(f'{i:06}', 'x' * 100)\nprint('end of ${at}')`);
    }
    const disconnections: string[] = [];
    page.on("console", (message) => message.text().includes("Disconnected") && disconnections.push(message.text()));
    await page.getByRole("button", { name: "Run all" }).click();
    await locateCellAt(page, 0).click({ position: { x: 5, y: 5 } });
    await page.keyboard.press("Escape");
    await page.keyboard.press("End");
    const last = locateCellAt(page, cells - 1);
    await expect(last.getByText(`end of ${cells - 1}`, { exact: true })).toBeVisible({ timeout: 90_000 });
    await expect(last.getByText("000000")).toBeVisible();
    expect(disconnections).toEqual([]);
    const printed = (await server.readTrace()).filter(({ type }) => type === "kernel_stdio");
    expect(printed.reduce((sum, { msg }) => sum + String(msg?.data).length, 0)).toBeGreaterThan(50 << 20);
    const next = await addCell(page, "'still' + ' here'");
    await runFocusedCell(page);
    await expect(locateCellAt(page, next).getByText("'still here'", { exact: true })).toBeVisible();
  },
);
