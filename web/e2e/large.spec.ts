import { addCell, call, cell, expect, openConsole, runHere, test } from "./assay";

test("2,000 cells are there at once, and scroll", async ({ page, house }) => {
  test.setTimeout(120_000);
  const create = (position: number) =>
    call("create_cell", { position, cell_type: "code", source: `x${position} = ${position}\nx${position} + 1` });
  const reply = (_: unknown, i: number) => ({ content: Array.from({ length: 100 }, (_, j) => create(100 * i + j)) });
  const model = house.script(...Array.from({ length: 20 }, reply), { content: [{ type: "text", text: "All made." }] });
  const server = await house.serve(["--agent", "builtin", "--model", model, "--actions", "5000"]);
  await openConsole(page, server);
  await page.getByLabel("Ask the agent").fill("Make them.");
  await page.keyboard.press("Enter");
  await expect(page.getByText("All made.")).toBeVisible({ timeout: 60_000 });
  await page.reload();
  await expect(cell(page, 0)).toContainText("x0 = 0");
  expect(await page.locator("[data-cell]").count()).toBeLessThan(100); // those on the screen, and some
  await expect(cell(page, 0)).toHaveAttribute("aria-setsize", "2000");
  await cell(page, 0).click({ position: { x: 5, y: 5 } });
  await page.keyboard.press("Escape");
  await page.keyboard.press("End");
  await expect(cell(page, 1999)).toContainText("x1999 = 1999");
  await cell(page, 1999).click({ position: { x: 5, y: 5 } });
  await page.keyboard.press("Enter");
  await runHere(page);
  await expect(cell(page, 1999).getByText("2000", { exact: true })).toBeVisible();

  await page.keyboard.press("b");
  await page.keyboard.press("Enter");
  await expect(cell(page, 2000).getByRole("textbox")).toBeFocused();
  await page.keyboard.insertText("print('nee' + 'dle')");
  await runHere(page);
  const printed = cell(page, 2000).getByText("needle", { exact: true });
  await expect(printed).toBeVisible();
  await page.keyboard.press("Home");
  await expect(cell(page, 0)).toBeFocused();
  await page.keyboard.press("ControlOrMeta+f");
  await page.getByLabel("Find in all cells").fill("NEEDLE");
  await page.keyboard.press("Enter");
  await expect(page.getByText("1 of 1")).toBeVisible();
  await expect(printed).toBeInViewport();
  await expect
    .poll(() => page.evaluate(() => [...(CSS.highlights.get("found") ?? [])].map(String)))
    .toEqual(["needle"]);
});

test("50 MiB of output leave the page alive, and both ends of them readable", async ({ page, house }) => {
  test.setTimeout(120_000);
  const server = await house.serve(["--agent", "noop"]);
  await openConsole(page, server);
  // Of one run the kernel keeps 10 MiB, so there are six.
  const cells = 6;
  for (let at = 0; at < cells; at++) {
    await addCell(page, `for i in range(86_000):\n    print(f'{i:06}', 'x' * 100)\nprint('that was all of ${at}')`);
  }
  const left: string[] = [];
  page.on("console", (message) => message.text().includes("Disconnected") && left.push(message.text()));
  await page.getByRole("button", { name: "Run all" }).click();
  await cell(page, 0).click({ position: { x: 5, y: 5 } });
  await page.keyboard.press("Escape");
  await page.keyboard.press("End");
  const last = cell(page, cells - 1);
  await expect(last.getByText(`that was all of ${cells - 1}`, { exact: true })).toBeVisible({ timeout: 90_000 });
  await expect(last.getByText("000000")).toBeVisible();
  expect(left).toEqual([]);
  const printed = (await server.trace()).filter(({ type }) => type === "kernel_stdio");
  expect(printed.reduce((sum, { msg }) => sum + String(msg?.data).length, 0)).toBeGreaterThan(50 << 20);
  const next = await addCell(page, "'still' + ' here'");
  await runHere(page);
  await expect(cell(page, next).getByText("'still here'", { exact: true })).toBeVisible();
});
