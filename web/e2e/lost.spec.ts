import {
  addCell,
  expect,
  harnessTest,
  locateCellAt,
  openConsole,
  replaceCellText,
  runFocusedCell,
  scriptedToolCall,
} from "./assay";
import { NetworkProxy } from "./networkProxy";

harnessTest("a connection that goes silent is replaced, and no typed text is lost", async ({ page, harness }) => {
  const server = await harness.startServer(["--agent", "noop", "--headless"]);
  const proxy = await NetworkProxy.startFor(server);
  await page.clock.install();
  await openConsole(page, { ...server, url: proxy.url } as typeof server);
  await addCell(page, "a = 1");
  await runFocusedCell(page);
  await expect(locateCellAt(page, 0).getByText("[1]")).toBeVisible();

  proxy.dropTraffic();
  await replaceCellText(page, 0, "a = 2");
  await runFocusedCell(page);
  await page.clock.fastForward(31_000);
  await page.clock.fastForward(6_000);
  await expect(page.getByText("The connection to the server is lost.")).toBeVisible();
  await page.clock.fastForward(1_000);
  await expect(page.getByText("connected", { exact: true }).first()).toBeVisible();
  await expect(locateCellAt(page, 0)).toContainText("a = 2");
  await expect.poll(async () => (await server.readTrace()).filter(({ msg }) => msg?.source === "a = 2").length).toBe(1);
  const runs = (await server.readTrace()).filter(({ hop, type }) => hop === "server>kernel" && type === "run_cell");
  expect(runs).toHaveLength(1);
  await proxy.stop();
});

harnessTest(
  "a holder that reconnects to another attempt learns how the previous one ended and can restore its cells",
  async ({ page, harness }) => {
    const busy = [scriptedToolCall("execute_code", { code: "import time; time.sleep(60)" })];
    const cases = ["one", "two"].map((id) => harness.writeCase({ id, task: `Do ${id}.` }));
    const model = harness.writeModelScript({ content: busy });
    const args = ["--agent", "builtin", "--model", model, "--grace", "2s"];
    const server = await harness.startServer([...args, ...cases.flatMap((path) => ["--case", path])]);
    const proxy = await NetworkProxy.startFor(server);
    await openConsole(page, { ...server, url: proxy.url } as typeof server, "?role=holder");
    await addCell(page, "a = 1");
    proxy.disconnect();
    await expect(page.getByText("The connection to the server is lost.")).toBeVisible();
    await replaceCellText(page, 0, "typed while away");
    await expect.poll(() => server.stderrLines.some((line) => line.includes("ready agent case=two"))).toBe(true);
    proxy.acceptAgain();
    const notices = page.getByRole("region", { name: "Notices" });
    await expect(notices.getByText("the attempt at one ended: console lost")).toBeVisible();
    await expect(page.locator("[data-cell]")).toHaveCount(0);
    await notices.getByRole("button", { name: "Restore its cells" }).click();
    await expect(locateCellAt(page, 0)).toContainText("typed while away");
    await proxy.stop();
  },
);
