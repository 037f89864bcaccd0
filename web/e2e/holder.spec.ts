import { expect, harnessTest, locateCellAt, openConsole, replaceCellText, sumCase, sumReplies } from "./assay";

harnessTest("a holder receives every agent action, and its answers reach the agent", async ({ page, harness }) => {
  const model = harness.writeModelScript(...sumReplies(800));
  const server = await harness.startServer([
    "--agent",
    "builtin",
    "--model",
    model,
    "--case",
    harness.writeCase(sumCase),
  ]);
  await openConsole(page, server, "?role=holder");
  await expect(page.getByText("sum(range(10))").first()).toBeVisible();
  await expect(page.getByRole("region", { name: "Verdict" }).getByText("Passed", { exact: true })).toBeVisible();

  const entries = await server.readTrace();
  const actions = entries.filter(({ hop, type }) => hop === "server>console" && type === "agent_action");
  const answers = entries.filter(({ hop, type }) => hop === "console>server" && type === "agent_action_response");
  expect(actions.map(({ action }) => action)).toEqual(
    expect.arrayContaining(["create_cell", "edit_cell", "get_context"]),
  );
  expect(answers.map(({ tx_id }) => tx_id)).toEqual(actions.map(({ tx_id }) => tx_id));
  expect(answers.every(({ msg }) => msg?.status === "success")).toBe(true);
  const forwardedAnswers = entries.filter(
    ({ hop, type }) => hop === "server>agent" && type === "agent_action_response",
  );
  expect(forwardedAnswers.map(({ tx_id }) => tx_id)).toEqual(
    expect.arrayContaining(actions.slice(0, 2).map(({ tx_id }) => tx_id)),
  );
});

harnessTest(
  "a holder keeps its notebook across a reload, and a second holder is refused with a reason",
  async ({ page, context, harness }) => {
    const server = await harness.startServer(["--agent", "noop", "--console-role", "holder"]);
    await openConsole(page, server);
    await page.getByRole("toolbar", { name: "Notebook" }).getByRole("button", { name: "Code" }).click();
    await replaceCellText(page, 0, "held = 6 * 7\nheld");
    await page.keyboard.press("Control+Enter");
    await expect(locateCellAt(page, 0).getByText("42", { exact: true })).toBeVisible();
    await page.reload();
    await expect(locateCellAt(page, 0)).toContainText("held = 6 * 7");
    await expect(locateCellAt(page, 0).getByText("42", { exact: true })).toBeVisible();

    const other = await context.newPage();
    await other.goto(server.url);
    await expect(other.getByText(/another console holds/i).first()).toBeVisible();
    await expect(page.getByText("connected", { exact: true }).first()).toBeVisible();
  },
);
