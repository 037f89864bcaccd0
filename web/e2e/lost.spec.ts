import { addCell, call, cell, expect, openConsole, runHere, test, typeInto } from "./assay";
import { Gate } from "./gate";

test("a connection that is dead without a word is found out, and nothing that was typed is lost", async ({
  page,
  house,
}) => {
  const server = await house.serve(["--agent", "noop", "--headless"]);
  const gate = await Gate.to(server);
  await page.clock.install();
  await openConsole(page, { ...server, url: gate.url } as typeof server);
  await addCell(page, "a = 1");
  await runHere(page);
  await expect(cell(page, 0).getByText("[1]")).toBeVisible();

  gate.swallow();
  await typeInto(page, 0, "a = 2");
  await runHere(page);
  await page.clock.fastForward(31_000);
  await page.clock.fastForward(6_000);
  await expect(page.getByText("The connection to the server is lost.")).toBeVisible();
  await page.clock.fastForward(1_000);
  await expect(page.getByText("connected", { exact: true }).first()).toBeVisible();
  await expect(cell(page, 0)).toContainText("a = 2");
  await expect.poll(async () => (await server.trace()).filter(({ msg }) => msg?.source === "a = 2").length).toBe(1);
  const runs = (await server.trace()).filter(({ hop, type }) => hop === "server>kernel" && type === "run_cell");
  expect(runs).toHaveLength(1);
  await gate.end();
});

test("a holder that comes back to another attempt is told how the one before ended, and has what was typed", async ({
  page,
  house,
}) => {
  const busy = [call("execute_code", { code: "import time; time.sleep(60)" })];
  const cases = ["one", "two"].map((id) => house.case({ id, task: `Do ${id}.` }));
  const model = house.script({ content: busy });
  const args = ["--agent", "builtin", "--model", model, "--grace", "2s"];
  const server = await house.serve([...args, ...cases.flatMap((path) => ["--case", path])]);
  const gate = await Gate.to(server);
  await openConsole(page, { ...server, url: gate.url } as typeof server, "?role=holder");
  await addCell(page, "a = 1");
  gate.close();
  await expect(page.getByText("The connection to the server is lost.")).toBeVisible();
  await typeInto(page, 0, "typed while away");
  await expect.poll(() => server.log.some((line) => line.includes("ready agent case=two"))).toBe(true);
  gate.open();
  const notices = page.getByRole("region", { name: "Notices" });
  await expect(notices.getByText("the attempt at one ended: console lost")).toBeVisible();
  await expect(page.locator("[data-cell]")).toHaveCount(0);
  await notices.getByRole("button", { name: "Bring its cells back" }).click();
  await expect(cell(page, 0)).toContainText("typed while away");
  await gate.end();
});
