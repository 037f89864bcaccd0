import { expect, openConsole, test } from "./assay";

const plain = { EVAL_SANDBOX: "" };

test("in the sandbox no token is asked for, and everybody may run", async ({ page, context, house }) => {
  const server = await house.serve(["--agent", "noop"]);
  await openConsole(page, server);
  const other = await context.newPage();
  await openConsole(other, server);
  for (const tab of [page, other]) {
    await expect(tab.getByRole("button", { name: "Restart kernel" })).toBeEnabled();
    await expect(tab.getByLabel("Token")).toHaveCount(0);
  }
});

test("elsewhere the token is asked for, and only the first console owns the session", async ({
  page,
  browser,
  house,
}) => {
  const server = await house.serve(["--agent", "noop", "--token", "hush"], plain);
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

  await page.close(); // the longest connected succeeds
  await expect(stranger.getByRole("button", { name: "Restart kernel" })).toBeEnabled();
  await stranger.close();
});

test("the viewer asks for the token too", async ({ page, house }) => {
  const server = await house.serve(["--agent", "noop", "--token", "hush"], plain);
  await page.goto(`${server.url}/runs`);
  await page.getByLabel("Token").fill("hush");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
});
