import { addCell, expect, harnessTest, locateCellAt, openConsole, runFocusedCell } from "./assay";

harnessTest("changing a widget sets its value and re-runs the cells that read it", async ({ page, harness }) => {
  const server = await harness.startServer(["--agent", "noop"]);
  await openConsole(page, server);
  const makers = [
    "from assay import *",
    "least = w_slider('At least', min=0, max=100, key='least')",
    "word = w_text_input('Word', value='ab', key='word')",
    "pick = w_select('Pick', options=['one', 'two', 'three'], value='one', key='pick')",
    "many = w_multi_select('Many', options=[1, 2, 3], value=[1], key='many')",
    "way = w_radio('Way', options=['up', 'down'], value='up', key='way')",
    "sure = w_checkbox('Sure', value=False, key='sure')",
    "go = w_button('Go', key='go')",
    "span = w_range_slider('Span', min=0, max=10, value=(2, 8), key='span')",
    "note = w_text_output('**bold** note')",
    "rows = w_row([sure, go])",
    "grid = w_grid(columns=2, rows=1)",
  ];
  await addCell(page, makers.join("\n"));
  await runFocusedCell(page);
  const reader = await addCell(
    page,
    "print('saw', least.value, word.value, pick.value, many.value, way.value, sure.value, go.value, span.value)",
  );
  await runFocusedCell(page);
  const seen = locateCellAt(page, reader);
  await expect(seen.getByText("saw 0 ab one [1] up False False (2, 8)")).toBeVisible();
  const widgets = locateCellAt(page, 0);
  await expect(widgets.getByText("bold", { exact: true })).toBeVisible();

  await widgets.getByRole("slider", { name: "At least" }).focus();
  await page.keyboard.press("End");
  await expect(seen.getByText("saw 100 ab")).toBeVisible();
  await widgets.getByRole("textbox", { name: "Word" }).fill("xyz");
  await page.keyboard.press("Enter");
  await expect(seen.getByText("saw 100 xyz")).toBeVisible();
  await widgets.getByRole("combobox", { name: "Pick" }).selectOption({ label: "three" });
  await expect(seen.getByText("saw 100 xyz three")).toBeVisible();
  await widgets.getByRole("radio", { name: "down" }).check();
  await expect(seen.getByText("[1] down")).toBeVisible();
  await widgets.getByRole("checkbox", { name: "Sure" }).check();
  await expect(seen.getByText("down True")).toBeVisible();
  await widgets.getByRole("button", { name: "Go" }).click();
  await expect(seen.getByText("True True")).toBeVisible();

  await page.getByRole("tab", { name: "Graph" }).click();
  await expect(page.getByText(/least/).first()).toBeVisible();
  await page.getByRole("tab", { name: "Variables" }).click();
  await expect(page.getByRole("tabpanel")).toContainText("word");
});
