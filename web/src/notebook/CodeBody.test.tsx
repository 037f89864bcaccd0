import { undo } from "@codemirror/commands";
import { EditorView } from "@codemirror/view";
import { act, cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  changeNotebookInStore,
  fakeCell,
  fakeExecution,
  type RenderedNotebook,
  removeCellFromStore,
  renderNotebook,
  setSourceInStore,
  stateOfCells,
} from "./fakeNotebook";

vi.mock("../widgets/CellOutputs", () => ({ CellOutputs: () => null }));
vi.mock("../outputs/Markdown", () => ({ Markdown: ({ source }: { source: string }) => <article>{source}</article> }));
vi.mock("../widgets/LiveWidgets", () => ({ LiveWidgets: () => null }));

beforeEach(() => {
  Element.prototype.scrollTo ??= () => {};
  Range.prototype.getClientRects ??= () => [] as unknown as DOMRectList;
});
afterEach(cleanup);

function cellElement(id: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(`[data-cell="${id}"]`);
  if (found === null) throw new Error(`no cell ${id}`);
  return found;
}

function cellIdsWithEditor(): string[] {
  return [...document.querySelectorAll(".cm-editor")].map(
    (editor) => editor.closest<HTMLElement>("[data-cell]")?.dataset.cell ?? "",
  );
}

function editorOfCell(id: string): EditorView {
  const content = cellElement(id).querySelector<HTMLElement>(".cm-content");
  const view = content === null ? null : EditorView.findFromDOM(content);
  if (view === null) throw new Error(`no editor in ${id}`);
  return view;
}

/** Renders a notebook with one cell of this source and opens its editor with Enter. */
async function renderWithOpenEditor(source: string): Promise<RenderedNotebook & { view: EditorView }> {
  const drawn = await renderNotebook(stateOfCells([fakeCell("a", source), fakeCell("b", "other")]));
  await waitFor(() => expect(cellElement("a").querySelector("[class^=tok-]")).toBeTruthy());
  await act(async () => {
    cellElement("a").focus();
    fireEvent.keyDown(cellElement("a"), { key: "Enter" });
  });
  return { ...drawn, view: editorOfCell("a") };
}

function typeText(view: EditorView, insert: string): void {
  act(() => view.dispatch({ ...view.state.replaceSelection(insert), userEvent: "input.type" }));
}

test("only the cell that is being edited has an editor", async () => {
  const { view } = await renderWithOpenEditor("import os");
  expect(cellIdsWithEditor()).toEqual(["a"]);
  expect(document.activeElement).toBe(view.contentDOM);
  await act(async () => {
    fireEvent.keyDown(view.contentDOM, { key: "Escape" });
  });
  expect(document.activeElement).toBe(cellElement("a"));
  expect(cellIdsWithEditor()).toEqual(["a"]);
});

test("a click into static code opens the editor with the caret there", async () => {
  await renderNotebook(stateOfCells([fakeCell("a", "import os\nprint(1)")]));
  await waitFor(() => expect(cellElement("a").querySelector("[class^=tok-]")).toBeTruthy());
  const code = cellElement("a").querySelector("code");
  const word = [...(code?.querySelectorAll("span") ?? [])].find((span) => span.textContent === "print");
  document.getSelection()?.collapse(word?.firstChild ?? null, 3);
  await act(async () => fireEvent.click(code as HTMLElement));
  expect(editorOfCell("a").state.selection.main.head).toBe(13);
});

test("typed text is sent as edits, and shortcut keys type letters in the editor", async () => {
  const { view, commands, store } = await renderWithOpenEditor("x");
  typeText(view, "dd");
  await act(async () => {
    for (const key of ["d", "d", "b", "j"]) fireEvent.keyDown(view.contentDOM, { key });
  });
  expect(commands.editCell.mock.calls).toEqual([["a", "ddx"]]);
  expect(store.get().notebook.order).toEqual(["a", "b"]);
});

test("run shortcuts work in the editor", async () => {
  const { view, commands } = await renderWithOpenEditor("x");
  await act(async () => {
    fireEvent.keyDown(view.contentDOM, { key: "Enter", ctrlKey: true });
  });
  expect(commands.runCell.mock.calls).toEqual([["a"]]);
  expect(view.state.doc.toString()).toBe("x");
});

test("the caret stays at its character when others edit the text", async () => {
  const { view, store } = await renderWithOpenEditor("one\ntwo\nthree\n");
  act(() => view.dispatch({ selection: { anchor: 5 } })); // behind the t of two
  act(() => setSourceInStore(store, "a", "# more\none\ntwo\nTHREE\n"));
  expect(view.state.doc.toString()).toBe("# more\none\ntwo\nTHREE\n");
  expect(view.state.selection.main.head).toBe(12);
});

test("undo reverts the user's changes and keeps those of others", async () => {
  const { view, store, commands } = await renderWithOpenEditor("one\n");
  typeText(view, "mine");
  act(() => setSourceInStore(store, "a", "mineone\n"));
  act(() => setSourceInStore(store, "a", "# theirs\nmineone\n"));
  act(() => void undo(view));
  expect(view.state.doc.toString()).toBe("# theirs\none\n");
  expect(commands.editCell.mock.lastCall).toEqual(["a", "# theirs\none\n"]);
});

test("changes by others are not sent as edits", async () => {
  const { store, commands } = await renderWithOpenEditor("one\n");
  act(() => setSourceInStore(store, "a", "two\n"));
  expect(commands.editCell).not.toHaveBeenCalled();
});

test("unsent text stays when others edit the cell", async () => {
  const { view, store } = await renderWithOpenEditor("one");
  typeText(view, "mine ");
  act(() => setSourceInStore(store, "a", "theirs"));
  expect(view.state.doc.toString()).toBe("mine one");
});

test("a cell deleted by others during editing can be restored", async () => {
  const { view, store, commands } = await renderWithOpenEditor("one");
  const keptInNotebook = vi.fn<(id: string) => void>();
  Object.assign(commands, { keptInNotebook });
  typeText(view, "mine ");
  await act(async () => removeCellFromStore(store, "a"));
  expect(keptInNotebook.mock.calls).toEqual([["a"]]); // and the session does not tell of it again
  expect(screen.getByText("The cell you were editing was deleted.")).toBeTruthy();
  expect(document.activeElement).toBe(cellElement("b"));
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Undo" })));
  expect(commands.createCell.mock.calls).toEqual([[0, "code", "mine one", ""]]);
});

test("output of another cell does not re-render the editor", async () => {
  const { view, store } = await renderWithOpenEditor("one");
  const update = vi.spyOn(view, "update");
  const frame = view.dom.parentElement;
  for (let i = 0; i < 50; i++) {
    const output = { output_type: "stream" as const, name: "stdout" as const, text: "line\n".repeat(i) };
    act(() =>
      changeNotebookInStore(store, ({ executions }) => ({
        executions: { ...executions, b: fakeExecution({ outputs: [output] }) },
      })),
    );
  }
  expect(update).not.toHaveBeenCalled();
  expect(view.dom.parentElement).toBe(frame);
});

test("Markdown is rendered unless it is being edited", async () => {
  await renderNotebook(stateOfCells([fakeCell("a", "# title", { type: "markdown" })]));
  expect((await screen.findByRole("article")).textContent).toBe("# title");
  await act(async () => fireEvent.doubleClick(screen.getByRole("article")));
  await waitFor(() => expect(cellIdsWithEditor()).toEqual(["a"]));
  typeText(editorOfCell("a"), "more ");
  await act(async () => {
    fireEvent.keyDown(editorOfCell("a").contentDOM, { key: "Enter", ctrlKey: true });
  });
  expect(cellIdsWithEditor()).toEqual([]);
  expect(screen.getByRole("article").textContent).toBe("more # title");
});

test("a very long text is always in an editor", async () => {
  await renderNotebook(stateOfCells([fakeCell("a", "x = 1\n".repeat(20_000))]), { readOnly: true });
  await waitFor(() => expect(cellIdsWithEditor()).toEqual(["a"]));
  expect(document.querySelectorAll(".cm-line").length).toBeLessThan(2000);
  expect(editorOfCell("a").state.readOnly).toBe(true);
});
