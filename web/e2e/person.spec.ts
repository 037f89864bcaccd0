import type { Page } from "@playwright/test";
import {
  type AssayHarness,
  addCell,
  type CaseFile,
  expect,
  harnessTest,
  locateCellAt,
  openConsole,
  runFocusedCell,
} from "./assay";

/** A case whose correct answer is {"total": 45}. */
const sumCase: CaseFile = {
  id: "sum",
  task: 'data.txt has one number per line. Add them up.\n\nReturn exactly this: <EVAL_ANSWER>{"total": <number>}</EVAL_ANSWER>',
  files: { "data.txt": "10\n35\n" },
  grader: { type: "exact", config: { ground_truth: { total: 45 } } },
};

/** A case whose answer is a text. */
const nameCase: CaseFile = {
  id: "name",
  task: "What is the capital of France?",
  grader: { type: "exact", config: { ground_truth: "Paris" } },
};

/** Starts a server on which ada works on cases. */
function startServer(harness: AssayHarness, cases: CaseFile[], args: string[] = []) {
  const file = harness.writeFile("cases.json", JSON.stringify(cases));
  return harness.startServer(["--agent", "human", "--person", "ada", "--case", file, ...args]);
}

const answerBox = (page: Page) => page.getByRole("textbox", { name: "Answer" });
const submitButton = (page: Page) => page.getByRole("button", { name: "Submit…" });
const confirm = (page: Page, label: string) =>
  page.getByRole("dialog").getByRole("button", { name: label, exact: true }).click();

harnessTest(
  "a person solves a case, is told what is wrong with the JSON, and goes on to the next",
  async ({ page, harness }) => {
    const server = await startServer(harness, [sumCase, nameCase]);
    await openConsole(page, server);
    await expect(page.getByRole("heading", { name: "Case sum" })).toBeVisible();
    await expect(page.getByText("data.txt has one number")).toHaveCount(0);
    await expect(page.getByRole("button", { name: "Run all" })).toBeDisabled();
    await expect(page.getByRole("toolbar", { name: "Notebook" }).getByRole("button", { name: "Code" })).toBeDisabled();

    await page.getByRole("button", { name: "Start", exact: true }).click();
    const task = page.getByRole("region", { name: "Task" });
    await expect(task).toContainText("data.txt has one number per line");
    await expect(task.getByRole("timer")).toContainText("left");
    await expect(task.getByRole("listitem")).toHaveText("data.txt");
    await addCell(page, "total = sum(map(int, open('data.txt')))\ntotal");
    await runFocusedCell(page);
    await expect(locateCellAt(page, 0).getByText("45", { exact: true })).toBeVisible();

    await answerBox(page).fill("{'total': 45}");
    await submitButton(page).click();
    await expect(page.getByRole("alert")).toContainText("This is not valid JSON. Texts and names are in double quotes");
    await answerBox(page).fill('{"total": 45}');
    await page.reload();
    await expect(answerBox(page)).toHaveValue('{"total": 45}');
    await addCell(page, "unsaved = 'typed just before'");
    await answerBox(page).press("Control+Enter");
    await expect(page.getByRole("dialog")).toContainText('{"total": 45}');
    await confirm(page, "Submit");

    // The verdict, and the next case.
    await expect(page.getByRole("heading", { name: "Next case: name" })).toBeVisible();
    const verdict = page.getByRole("region", { name: "Verdict" });
    await expect(verdict.getByText("Passed", { exact: true })).toBeVisible();
    await expect(verdict).toContainText("The person submitted an answer.");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await expect(task).toContainText("capital of France");
    await expect(answerBox(page)).toHaveValue("");
    await answerBox(page).fill("Paris");
    await submitButton(page).click();
    await confirm(page, "Submit");
    await expect(task.getByText("Passed", { exact: true })).toBeVisible();
    await expect(task).toContainText("If there is another case, it appears here.");

    const { runs } = await server.getJSON<{ runs: { name: string; config: { person: string } }[] }>("/api/runs");
    expect(runs[0]?.config.person).toBe("ada");
    const { attempts } = await server.getJSON<{ attempts: Record<string, unknown>[] }>(
      `/api/runs/${runs[0]?.name}/attempts`,
    );
    expect(attempts[0]).toMatchObject({ case_id: "sum", person: "ada", interventions: 0, tamper: 0, passed: true });
    const notebook = await fetch(
      `${server.url}/api/runs/${runs[0]?.name}/attempts/${attempts[0]?.name}/files/notebook.ipynb`,
    );
    expect(await notebook.text()).toContain("unsaved = 'typed just before'");
    await page.goto(`${server.url}/runs/${runs[0]?.name}`);
    await expect(page.getByText("human · ada").first()).toBeVisible();
  },
);

harnessTest("a person gives up in a narrow window, with the keyboard alone", async ({ page, harness }) => {
  const server = await startServer(harness, [sumCase]);
  await page.setViewportSize({ width: 400, height: 800 });
  await page.goto(server.url);
  await page.getByRole("button", { name: "Start", exact: true }).focus();
  await page.keyboard.press("Enter");
  const task = page.getByRole("complementary", { name: "Panel" });
  await expect(task).toContainText("data.txt has one number per line");
  await page.keyboard.press("Escape");
  await expect(task).toBeHidden();
  const bar = page.getByRole("region", { name: "Task" });
  await expect(bar.getByRole("timer")).toContainText("left");
  await bar.getByRole("button", { name: "Task and answer" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Give up…" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Give up", exact: true }).focus();
  await page.keyboard.press("Enter");
  await expect(task.getByText("Failed", { exact: true })).toBeVisible();
  await expect(task).toContainText("The person stopped without an answer.");
});

harnessTest(
  "a second tab works on the same attempt, and the notebook stands still after the submission",
  async ({ page, context, harness }) => {
    const server = await startServer(harness, [sumCase]);
    await openConsole(page, server);
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await answerBox(page).fill('{"total": 4');
    await addCell(
      page,
      "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.05)",
    );
    await runFocusedCell(page);
    await expect(locateCellAt(page, 0).getByText("begun", { exact: true })).toBeVisible();
    await expect(page.getByText("A cell is still running")).toBeVisible();
    await expect(submitButton(page)).toBeDisabled();

    const other = await context.newPage();
    await openConsole(other, server);
    await expect(answerBox(other)).toHaveValue('{"total": 4');
    await locateCellAt(other, 0).hover();
    await locateCellAt(other, 0).getByRole("button", { name: "Stop the cell" }).click();
    await answerBox(other).fill('{"total": 44}');
    await submitButton(other).click();
    await confirm(other, "Submit");
    for (const tab of [page, other]) {
      await expect(tab.getByText("Failed", { exact: true }).first()).toBeVisible();
      await expect(tab.getByRole("button", { name: "Restart kernel" })).toBeDisabled();
      await expect(answerBox(tab)).toHaveCount(0);
    }
  },
);
