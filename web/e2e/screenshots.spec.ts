import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import {
  addCell,
  call,
  cell,
  expect,
  type House,
  openConsole,
  type Reply,
  runHere,
  type Server,
  submit,
  test,
} from "./assay";

// Draws every page into the folder SHOTS, light and dark: `npm run screenshots`.
// console.png and attempt.png are those of the README. Wants pandas and plotly.
const folder = process.env.SHOTS ?? "";
const debian = ["--python", "/usr/bin/python3"];

const sales = `import pandas as pd
sales = pd.DataFrame({
    "region": ["north", "south", "east", "west", "north", "east"],
    "amount": [120.5, 99.25, 210.0, 75.1, 230.0, 45.4],
})
sales`;

const totals = `totals = sales.groupby("region").amount.sum().sort_values(ascending=False)
totals.to_dict()`;

const plot = `import plotly.graph_objects as go
go.Figure(go.Bar(x=totals.index, y=totals, marker_color="#2f5fd0")).update_layout(
    height=260, margin=dict(l=40, r=10, t=10, b=30))`;

const task = {
  id: "best-region",
  task: 'Six sales are in the notebook\'s first cell. Which region sold most? Answer {"region": name, "total": sum}.',
  grader: {
    type: "exact",
    config: { ground_truth: { region: "north", total: 350.5 } },
  },
};

const code = (position: number, source: string) =>
  call("create_cell", { position, cell_type: "code", source, auto_run: true });

function replies(delay: number): Reply[] {
  const usage = { input_tokens: 2140, output_tokens: 310, cache_read_input_tokens: 1800 };
  return [
    {
      delay_ms: delay,
      usage,
      content: [
        { type: "text", text: "I put the sales into a frame first." },
        call("create_markdown_cell", {
          position: 0,
          source: "## Sales by region\nEvery sale, then the *sum* of each region.",
        }),
        code(1, sales),
      ],
    },
    { delay_ms: delay, usage, content: [{ type: "text", text: "Now the sum of each region." }, code(2, totals)] },
    {
      delay_ms: delay,
      usage,
      content: [{ type: "text", text: "A chart shows how far ahead `north` is." }, code(3, plot)],
    },
    {
      delay_ms: delay,
      usage,
      content: [
        { type: "text", text: "**north** sold most, 350.50 in all." },
        submit({ region: "north", total: 350.5 }),
      ],
    },
  ];
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.waitForTimeout(600); // what fades in has faded in
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

async function withRuns(house: House): Promise<Server> {
  const file = house.case(task);
  const model = house.script(...replies(30));
  await house.run(["run", file, "--model", model, "--epochs", "3", "--out", "runs/scripted", ...debian]);
  await house.run(["run", file, "--agent", "noop", "--out", "runs/noop"]);
  await house.run(["run", join(process.cwd(), "../testcases/examples"), "--agent", "oracle", "--out", "runs/examples"]);
  const script = house.script(...replies(700));
  return house.serve(["--model", script, "--case", file, ...debian]);
}

for (const scheme of ["light", "dark"] as const) {
  const suffix = scheme === "light" ? "" : "-dark";
  test(`every page, ${scheme}`, async ({ page, house }) => {
    test.setTimeout(180_000);
    mkdirSync(folder, { recursive: true });
    await page.emulateMedia({ colorScheme: scheme });
    const server = await withRuns(house);
    await openConsole(page, server);
    await expect(page.getByRole("region", { name: "Verdict" }).getByText("Passed", { exact: true })).toBeVisible({
      timeout: 30_000,
    });
    await cell(page, 1).scrollIntoViewIfNeeded();
    await shoot(page, `console${suffix}`);
    await page.getByRole("button", { name: "Open messages" }).click();
    await shoot(page, `flow${suffix}`);
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
      await shoot(page, `${name}${suffix}`);
    }
  });

  test(`a person at work, ${scheme}`, async ({ page, house }) => {
    await page.emulateMedia({ colorScheme: scheme });
    const server = await house.serve(["--agent", "noop", ...debian]);
    await openConsole(page, server);
    await addCell(
      page,
      "from assay import *\nleast = w_slider('At least', min=0, max=100, value=20)\nword = w_text_input('Word', value='ab')\nw_row([w_checkbox('Sure'), w_button('Go')])",
    );
    await runHere(page);
    await addCell(
      page,
      "large = Signal([])\nlarge([n for n in (3, 14, 15, 92, 65) if n >= least.value])\nprint('at least', least.value)",
    );
    await runHere(page);
    await addCell(page, "def area(r):\n    return 3 * r ** 2\n\narea('two')");
    await runHere(page);
    await expect(page.getByText("TypeError").first()).toBeVisible();
    await page.getByRole("tab", { name: "Graph" }).click();
    await shoot(page, `widgets${suffix}`);
    await page.setViewportSize({ width: 800, height: 800 });
    await shoot(page, `narrow${suffix}`);
  });
}
