import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import {
  type AssayHarness,
  type AssayServer,
  addCell,
  expect,
  harnessTest,
  locateCellAt,
  openConsole,
  runFocusedCell,
  type ScriptedReply,
  scriptedSubmitCall,
  scriptedToolCall,
} from "./assay";

// Takes screenshots of every page in the light and dark themes: `npm run screenshots`. console.png and
// attempt.png are shown in the README. Needs Python with pandas and plotly.
/** The folder for the screenshots: the environment variable SHOTS. */
const screenshotFolder = process.env.SHOTS ?? "";
/** Arguments that select Debian's Python for the kernel: it has pandas and plotly. */
const debianPythonArgs = ["--python", "/usr/bin/python3"];

/** Python source of a cell with a data frame of sales. */
const salesSource = `import pandas as pd
sales = pd.DataFrame({
    "region": ["north", "south", "east", "west", "north", "east"],
    "amount": [120.5, 99.25, 210.0, 75.1, 230.0, 45.4],
})
sales`;

/** Python source of a cell that sums the sales by region. */
const totalsSource = `totals = sales.groupby("region").amount.sum().sort_values(ascending=False)
totals.to_dict()`;

/** Python source of a cell with a bar chart of the sums. */
const plotSource = `import plotly.graph_objects as go
go.Figure(go.Bar(x=totals.index, y=totals, marker_color="#2f5fd0")).update_layout(
    height=260, margin=dict(l=40, r=10, t=10, b=30))`;

/** The case of the screenshots: which region sold most. */
const salesCase = {
  id: "best-region",
  task: 'Six sales are in the notebook\'s first cell. Which region sold most? Answer {"region": name, "total": sum}.',
  grader: {
    type: "exact",
    config: { ground_truth: { region: "north", total: 350.5 } },
  },
};

/** Returns the agent's tool call that creates and runs a code cell at a position. */
const createCodeCellCall = (position: number, source: string) =>
  scriptedToolCall("create_cell", { position, cell_type: "code", source, auto_run: true });

/** Returns the scripted model's replies that solve salesCase. delay is the milliseconds before each reply. */
function salesReplies(delay: number): ScriptedReply[] {
  const usage = { input_tokens: 2140, output_tokens: 310, cache_read_input_tokens: 1800 };
  return [
    {
      delay_ms: delay,
      usage,
      content: [
        { type: "text", text: "I put the sales into a frame first." },
        scriptedToolCall("create_markdown_cell", {
          position: 0,
          source: "## Sales by region\nEvery sale, then the *sum* of each region.",
        }),
        createCodeCellCall(1, salesSource),
      ],
    },
    {
      delay_ms: delay,
      usage,
      content: [{ type: "text", text: "Now the sum of each region." }, createCodeCellCall(2, totalsSource)],
    },
    {
      delay_ms: delay,
      usage,
      content: [{ type: "text", text: "A chart shows how far ahead `north` is." }, createCodeCellCall(3, plotSource)],
    },
    {
      delay_ms: delay,
      usage,
      content: [
        { type: "text", text: "**north** sold most, 350.50 in all." },
        scriptedSubmitCall({ region: "north", total: 350.5 }),
      ],
    },
  ];
}

/** Saves a screenshot of the page as name.png in screenshotFolder. */
async function takeScreenshot(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.waitForTimeout(600); // until transitions have ended
  await page.screenshot({ path: join(screenshotFolder, `${name}.png`) });
}

/** Makes three runs and starts a server whose agent solves salesCase; returns the server. */
async function createRunsAndServe(harness: AssayHarness): Promise<AssayServer> {
  const file = harness.writeCase(salesCase);
  const model = harness.writeModelScript(...salesReplies(30));
  await harness.runAssay([
    "run",
    file,
    "--model",
    model,
    "--epochs",
    "3",
    "--out",
    "runs/scripted",
    ...debianPythonArgs,
  ]);
  await harness.runAssay(["run", file, "--agent", "noop", "--out", "runs/noop"]);
  await harness.runAssay([
    "run",
    join(process.cwd(), "../testcases/examples"),
    "--agent",
    "oracle",
    "--out",
    "runs/examples",
  ]);
  const script = harness.writeModelScript(...salesReplies(700));
  return harness.startServer(["--model", script, "--case", file, ...debianPythonArgs]);
}

for (const scheme of ["light", "dark"] as const) {
  const suffix = scheme === "light" ? "" : "-dark";
  harnessTest(`screenshots of every page in the ${scheme} theme`, async ({ page, harness }) => {
    harnessTest.setTimeout(180_000);
    mkdirSync(screenshotFolder, { recursive: true });
    await page.emulateMedia({ colorScheme: scheme });
    const server = await createRunsAndServe(harness);
    await openConsole(page, server);
    await expect(page.getByRole("region", { name: "Verdict" }).getByText("Passed", { exact: true })).toBeVisible({
      timeout: 30_000,
    });
    await locateCellAt(page, 1).scrollIntoViewIfNeeded();
    await takeScreenshot(page, `console${suffix}`);
    await page.getByRole("button", { name: "Open messages" }).click();
    await takeScreenshot(page, `flow${suffix}`);
    for (const [name, path] of [
      ["runs", "/runs"],
      ["run", "/runs/examples"],
      ["overview", "/runs/scripted/0001-best-region-e1-t1"],
      ["attempt", "/runs/scripted/0001-best-region-e1-t1?tab=notebook"],
      ["compare", "/compare?a=scripted/0001-best-region-e1-t1&b=noop/0001-best-region-e1-t1"],
    ]) {
      await page.goto(server.url + path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await page.waitForTimeout(1200);
      await takeScreenshot(page, `${name}${suffix}`);
    }
  });

  harnessTest(`screenshots of widgets, signals and a traceback in the ${scheme} theme`, async ({ page, harness }) => {
    await page.emulateMedia({ colorScheme: scheme });
    const server = await harness.startServer(["--agent", "noop", ...debianPythonArgs]);
    await openConsole(page, server);
    await addCell(
      page,
      "from assay import *\nleast = w_slider('At least', min=0, max=100, value=20)\nword = w_text_input('Word', value='ab')\nw_row([w_checkbox('Sure'), w_button('Go')])",
    );
    await runFocusedCell(page);
    await addCell(
      page,
      "large = Signal([])\nlarge([n for n in (3, 14, 15, 92, 65) if n >= least.value])\nprint('at least', least.value)",
    );
    await runFocusedCell(page);
    await addCell(page, "def area(r):\n    return 3 * r ** 2\n\narea('two')");
    await runFocusedCell(page);
    await expect(page.getByText("TypeError").first()).toBeVisible();
    await page.getByRole("tab", { name: "Graph" }).click();
    await takeScreenshot(page, `widgets${suffix}`);
    await page.setViewportSize({ width: 800, height: 800 });
    await takeScreenshot(page, `narrow${suffix}`);
  });
}
