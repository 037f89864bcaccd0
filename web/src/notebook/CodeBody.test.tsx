import { undo } from "@codemirror/commands";
import { EditorView } from "@codemirror/view";
import { act, cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  changeNotebook,
  fakeCell,
  fakeExecution,
  type RenderedNotebook,
  removeCell,
  renderNotebook,
  setSource,
  stateOf,
} from "./fakeNotebook";

vi.mock("../widgets/CellOutputs", () => ({ CellOutputs: () => null }));
vi.mock("../outputs/Markdown", () => ({ Markdown: ({ source }: { source: string }) => <article>{source}</article> }));
vi.mock("../widgets/LiveWidgets", () => ({ Widgets: () => null }));

beforeEach(() => {
  Element.prototype.scrollTo ??= () => {};
  Range.prototype.getClientRects ??= () => [] as unknown as DOMRectList;
});
afterEach(cleanup);

function element(id: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(`[data-cell="${id}"]`);
  if (found === null) throw new Error(`no cell ${id}`);
  return found;
}

function editors(): string[] {
  return [...document.querySelectorAll(".cm-editor")].map(
    (editor) => editor.closest<HTMLElement>("[data-cell]")?.dataset.cell ?? "",
  );
}

function editorOf(id: string): EditorView {
  const content = element(id).querySelector<HTMLElement>(".cm-content");
  const view = content === null ? null : EditorView.findFromDOM(content);
  if (view === null) throw new Error(`no editor in ${id}`);
  return view;
}

/** Draws the cells and opens the text of one with Enter. */
async function editing(source: string): Promise<RenderedNotebook & { view: EditorView }> {
  const drawn = await renderNotebook(stateOf([fakeCell("a", source), fakeCell("b", "other")]));
  await waitFor(() => expect(element("a").querySelector("[class^=tok-]")).toBeTruthy());
  await act(async () => {
    element("a").focus();
    fireEvent.keyDown(element("a"), { key: "Enter" });
  });
  return { ...drawn, view: editorOf("a") };
}

function type(view: EditorView, insert: string): void {
  act(() => view.dispatch({ ...view.state.replaceSelection(insert), userEvent: "input.type" }));
}

test("only the cell whose text is opened has an editor", async () => {
  const { view } = await editing("import os");
  expect(editors()).toEqual(["a"]);
  expect(document.activeElement).toBe(view.contentDOM);
  await act(async () => {
    fireEvent.keyDown(view.contentDOM, { key: "Escape" });
  });
  expect(document.activeElement).toBe(element("a"));
  expect(editors()).toEqual(["a"]);
});

test("a click puts the caret where it was in the text that was only shown", async () => {
  await renderNotebook(stateOf([fakeCell("a", "import os\nprint(1)")]));
  await waitFor(() => expect(element("a").querySelector("[class^=tok-]")).toBeTruthy());
  const code = element("a").querySelector("code");
  const word = [...(code?.querySelectorAll("span") ?? [])].find((span) => span.textContent === "print");
  document.getSelection()?.collapse(word?.firstChild ?? null, 3);
  await act(async () => fireEvent.click(code as HTMLElement));
  expect(editorOf("a").state.selection.main.head).toBe(13);
});

test("what is typed is told on, and the keys of the notebook are only letters in it", async () => {
  const { view, commands, store } = await editing("x");
  type(view, "dd");
  await act(async () => {
    for (const key of ["d", "d", "b", "j"]) fireEvent.keyDown(view.contentDOM, { key });
  });
  expect(commands.editCell.mock.calls).toEqual([["a", "ddx"]]);
  expect(store.get().notebook.order).toEqual(["a", "b"]);
});

test("keys that run work in the text", async () => {
  const { view, commands } = await editing("x");
  await act(async () => {
    fireEvent.keyDown(view.contentDOM, { key: "Enter", ctrlKey: true });
  });
  expect(commands.runCell.mock.calls).toEqual([["a"]]);
  expect(view.state.doc.toString()).toBe("x");
});

test("the caret stays on its letter when others write around it", async () => {
  const { view, store } = await editing("one\ntwo\nthree\n");
  act(() => view.dispatch({ selection: { anchor: 5 } })); // behind the t of two
  act(() => setSource(store, "a", "# more\none\ntwo\nTHREE\n"));
  expect(view.state.doc.toString()).toBe("# more\none\ntwo\nTHREE\n");
  expect(view.state.selection.main.head).toBe(12);
});

test("undo takes back one's own text and leaves that of others", async () => {
  const { view, store, commands } = await editing("one\n");
  type(view, "mine");
  act(() => setSource(store, "a", "mineone\n"));
  act(() => setSource(store, "a", "# theirs\nmineone\n"));
  act(() => void undo(view));
  expect(view.state.doc.toString()).toBe("# theirs\none\n");
  expect(commands.editCell.mock.lastCall).toEqual(["a", "# theirs\none\n"]);
});

test("what others wrote is not told on as one's own", async () => {
  const { store, commands } = await editing("one\n");
  act(() => setSource(store, "a", "two\n"));
  expect(commands.editCell).not.toHaveBeenCalled();
});

test("text that is not stored yet stays when others write too", async () => {
  const { view, store } = await editing("one");
  type(view, "mine ");
  act(() => setSource(store, "a", "theirs"));
  expect(view.state.doc.toString()).toBe("mine one");
});

test("a cell that others delete while one writes in it can be brought back", async () => {
  const { view, store, commands } = await editing("one");
  const keptInNotebook = vi.fn<(id: string) => void>();
  Object.assign(commands, { keptInNotebook });
  type(view, "mine ");
  await act(async () => removeCell(store, "a"));
  expect(keptInNotebook.mock.calls).toEqual([["a"]]); // and the session does not tell of it again
  expect(screen.getByText("The cell you were editing was deleted.")).toBeTruthy();
  expect(document.activeElement).toBe(element("b"));
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Undo" })));
  expect(commands.createCell.mock.calls).toEqual([[0, "code", "mine one", ""]]);
});

test("what another cell prints does not touch the editor", async () => {
  const { view, store } = await editing("one");
  const update = vi.spyOn(view, "update");
  const frame = view.dom.parentElement;
  for (let i = 0; i < 50; i++) {
    const output = { output_type: "stream" as const, name: "stdout" as const, text: "line\n".repeat(i) };
    act(() =>
      changeNotebook(store, ({ executions }) => ({
        executions: { ...executions, b: fakeExecution({ outputs: [output] }) },
      })),
    );
  }
  expect(update).not.toHaveBeenCalled();
  expect(view.dom.parentElement).toBe(frame);
});

test("Markdown is drawn unless it is edited", async () => {
  await renderNotebook(stateOf([fakeCell("a", "# title", { type: "markdown" })]));
  expect((await screen.findByRole("article")).textContent).toBe("# title");
  await act(async () => fireEvent.doubleClick(screen.getByRole("article")));
  await waitFor(() => expect(editors()).toEqual(["a"]));
  type(editorOf("a"), "more ");
  await act(async () => {
    fireEvent.keyDown(editorOf("a").contentDOM, { key: "Enter", ctrlKey: true });
  });
  expect(editors()).toEqual([]);
  expect(screen.getByRole("article").textContent).toBe("more # title");
});

test("a very long text is in an editor, which draws what is on the screen", async () => {
  await renderNotebook(stateOf([fakeCell("a", "x = 1\n".repeat(20_000))]), { readOnly: true });
  await waitFor(() => expect(editors()).toEqual(["a"]));
  expect(document.querySelectorAll(".cm-line").length).toBeLessThan(2000);
  expect(editorOf("a").state.readOnly).toBe(true);
});
