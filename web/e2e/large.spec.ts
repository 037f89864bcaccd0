import { addCell, call, cell, expect, openConsole, runHere, test } from "./assay";

test("2,000 cells are there at once, and scroll", async ({ page, house }) => {
  test.setTimeout(120_000);
  const create = (position: number) =>
    call("create_cell", { position, cell_type: "code", source: `x${position} = ${position}\nx${position}` });
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
  await expect(cell(page, 1999).getByText("1999", { exact: true }).last()).toBeVisible();
});

test("50 MiB of output leave the page alive, and both ends of them readable", async ({ page, house }) => {
  test.setTimeout(120_000);
  const server = await house.serve(["--agent", "noop"]);
  await openConsole(page, server);
  const lines = "for i in range(500_000):\n    print(f'line {i:06}', 'x' * 90)\nprint('that was all')";
  const at = await addCell(page, lines);
  await runHere(page);
  await expect(cell(page, at).getByText("that was all", { exact: true })).toBeVisible({ timeout: 90_000 });
  await expect(cell(page, at).getByText("line 000000")).toBeVisible();
  await expect(page.getByText("connected", { exact: true }).first()).toBeVisible();
  const next = await addCell(page, "'still here'");
  await runHere(page);
  await expect(cell(page, next).getByText("'still here'", { exact: true }).last()).toBeVisible();
});
