import { expect, harnessTest, openConsole } from "./assay";

/** Environment variables that turn off the sandbox mode, in which no token is needed, and set one. */
const tokenModeEnv = { EVAL_SANDBOX: "", ASSAY_TOKEN: "hush" };

harnessTest(
  "in sandbox mode the page asks for no token, and every console may run cells",
  async ({ page, context, harness }) => {
    const server = await harness.startServer(["--agent", "noop"]);
    await openConsole(page, server);
    const other = await context.newPage();
    await openConsole(other, server);
    for (const tab of [page, other]) {
      await expect(tab.getByRole("button", { name: "Restart kernel" })).toBeEnabled();
      await expect(tab.getByLabel("Token")).toHaveCount(0);
    }
  },
);

harnessTest(
  "outside sandbox mode the page asks for the token, and only the first console owns the session",
  async ({ page, browser, harness }) => {
    const server = await harness.startServer(["--agent", "noop"], tokenModeEnv);
    await page.goto(server.url);
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Continue" }).click();
    await expect(page.getByRole("alert")).toContainText(/token/i);
    await page.getByLabel("Token").fill("hush");
    await page.getByRole("button", { name: "Continue" }).click();
    await expect(page.getByText("connected", { exact: true }).first()).toBeVisible();
    await expect(page.getByRole("button", { name: "Restart kernel" })).toBeEnabled();

    const stranger = await browser.newPage();
    await stranger.goto(server.url);
    await stranger.getByLabel("Token").fill("hush");
    await stranger.getByRole("button", { name: "Continue" }).click();
    await expect(stranger.getByText("connected", { exact: true }).first()).toBeVisible();
    await expect(stranger.getByText(/another console owns this session/i).first()).toBeVisible();
    await expect(stranger.getByRole("button", { name: "Restart kernel" })).toBeDisabled();

    await page.close(); // the console that has been connected longest becomes the owner
    await expect(stranger.getByRole("button", { name: "Restart kernel" })).toBeEnabled();
    await stranger.close();
  },
);

harnessTest("the page of all runs asks for the token too", async ({ page, harness }) => {
  const server = await harness.startServer(["--agent", "noop"], tokenModeEnv);
  await page.goto(`${server.url}/runs`);
  await page.getByLabel("Token").fill("hush");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
});
