import { act, cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  changeNotebookInStore,
  fakeCell,
  fakeExecution,
  insertCellIntoStore,
  moveCellInStore,
  removeCellFromStore,
  renderNotebook,
  stateOfCells,
} from "./fakeNotebook";

vi.mock("../widgets/CellOutputs", () => ({
  CellOutputs: ({ cellId }: { cellId: string }) => <output>outputs of {cellId}</output>,
}));
vi.mock("../outputs/Markdown", () => ({ Markdown: ({ source }: { source: string }) => <article>{source}</article> }));
vi.mock("../widgets/LiveWidgets", () => ({ LiveWidgets: () => <input aria-label="a widget" /> }));

const threeCells = () => stateOfCells([fakeCell("a"), fakeCell("b"), fakeCell("c")]);

beforeEach(() => {
  Element.prototype.scrollTo ??= () => {};
});
afterEach(cleanup);

function drawnCells(): HTMLElement[] {
  return screen.getAllByRole("listitem");
}

function focusedCellId(): string | undefined {
  return document.activeElement instanceof HTMLElement ? document.activeElement.dataset.cell : undefined;
}

async function pressKeys(...keys: (string | KeyboardEventInit)[]): Promise<void> {
  for (const key of keys) {
    const init = typeof key === "string" ? { key } : key;
    await act(async () => {
      fireEvent.keyDown(document.activeElement ?? document.body, init);
    });
  }
}

async function focusCell(id: string): Promise<void> {
  await act(async () =>
    drawnCells()
      .find((each) => each.dataset.cell === id)
      ?.focus(),
  );
}

test("only the cells around the visible ones are drawn of 2,000", async () => {
  await renderNotebook(stateOfCells(Array.from({ length: 2000 }, (_, i) => fakeCell(`c${i}`))));
  expect(drawnCells().length).toBeGreaterThan(7);
  expect(drawnCells().length).toBeLessThan(40);
  expect(drawnCells()[0]?.getAttribute("aria-setsize")).toBe("2000");
});

test("the selected cell stays drawn when the list is scrolled away from it", async () => {
  await renderNotebook(stateOfCells(Array.from({ length: 2000 }, (_, i) => fakeCell(`c${i}`))));
  await focusCell("c3");
  const scroller = drawnCells()[0]?.closest<HTMLElement>('[tabindex="-1"]:not([data-cell])');
  await act(async () => {
    if (scroller) {
      scroller.scrollTop = 100_000;
      fireEvent.scroll(scroller);
    }
  });
  const drawn = drawnCells().map((each) => each.dataset.cell);
  expect(drawn[0]).toBe("c3");
  expect(Number(drawn[1]?.slice(1))).toBeGreaterThan(500);
  expect(drawn.length).toBeLessThan(40);
  expect(focusedCellId()).toBe("c3");
});

test("one cell is in the tab order, and arrow keys move from cell to cell", async () => {
  await renderNotebook(threeCells());
  expect(drawnCells().map((each) => each.tabIndex)).toEqual([0, -1, -1]);
  await focusCell("a");
  await pressKeys("ArrowDown", "j");
  expect(focusedCellId()).toBe("c");
  expect(drawnCells().map((each) => each.tabIndex)).toEqual([-1, -1, 0]);
  await pressKeys("j", "k");
  expect(focusedCellId()).toBe("b");
});

test("shortcuts do nothing in a widget, or with another key between their two keys", async () => {
  const shown = fakeExecution({ widgets: { "b/w": { type: "button" } } });
  const { commands } = await renderNotebook(
    stateOfCells([fakeCell("a"), fakeCell("b"), fakeCell("c")], { executions: { b: shown } }),
  );
  const widget = await screen.findByLabelText("a widget");
  await act(async () => widget.focus());
  await pressKeys("d", "d", "b", "j", "m");
  expect(commands.deleteCell).not.toHaveBeenCalled();
  expect(commands.createCell).not.toHaveBeenCalled();
  await focusCell("b");
  await pressKeys("d", "x", "d");
  expect(commands.deleteCell).not.toHaveBeenCalled();
});

test("a key that is held down deletes no cells", async () => {
  const { commands } = await renderNotebook(threeCells());
  await focusCell("b");
  await pressKeys("d", { key: "d", repeat: true }, { key: "d", repeat: true });
  expect(commands.deleteCell).not.toHaveBeenCalled();
});

test("deleted cells are restored one by one with source, type, title and position", async () => {
  const cellsThen = [
    fakeCell("a"),
    fakeCell("b", "# text", { type: "markdown", title: "Why" }),
    fakeCell("c", "x = 1"),
    fakeCell("d"),
  ];
  const { store, commands } = await renderNotebook(stateOfCells(cellsThen));
  await focusCell("b");
  await pressKeys("d", "d");
  expect(focusedCellId()).toBe("c");
  await pressKeys("d", "d");
  expect(focusedCellId()).toBe("d");
  expect(store.get().notebook.order).toEqual(["a", "d"]);
  await pressKeys("z", "z");
  expect(commands.createCell.mock.calls).toEqual([
    [1, "code", "x = 1", ""],
    [1, "markdown", "# text", "Why"],
  ]);
  expect(store.get().notebook.order).toEqual(["a", "new2", "new1", "d"]);
  expect(focusedCellId()).toBe("new2");
  await pressKeys("z");
  expect(screen.getByText("No deleted cell to restore.")).toBeTruthy();
});

test("the note about a deletion undoes it", async () => {
  const { store } = await renderNotebook(threeCells());
  await focusCell("b");
  await pressKeys("d", "d");
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Undo" })));
  expect(store.get().notebook.order).toEqual(["a", "new1", "c"]);
  expect(focusedCellId()).toBe("new1");
  expect(screen.queryByText("Cell deleted.")).toBeNull();
});

test("a refused deletion is reported and can be retried", async () => {
  const { commands } = await renderNotebook(threeCells());
  commands.deleteCell.mockRejectedValueOnce(new Error("the attempt has ended"));
  await focusCell("b");
  await pressKeys("d", "d");
  expect(screen.getByText("The cell could not be deleted: the attempt has ended")).toBeTruthy();
  await pressKeys("d", "d");
  expect(commands.deleteCell).toHaveBeenCalledTimes(2);
});

test("the focus is kept when others delete and move cells", async () => {
  const { store } = await renderNotebook(threeCells());
  await focusCell("b");
  await act(async () => moveCellInStore(store, "b", 0));
  expect(focusedCellId()).toBe("b");
  await act(async () => insertCellIntoStore(store, 0, fakeCell("x")));
  expect(focusedCellId()).toBe("b");
  await act(async () => removeCellFromStore(store, "b"));
  expect(focusedCellId()).toBe("a");
  await act(async () => {
    removeCellFromStore(store, "a");
    removeCellFromStore(store, "c");
  });
  expect(focusedCellId()).toBe("x");
});

test("keys move the cell up and down within the notebook", async () => {
  const { store, commands } = await renderNotebook(threeCells());
  await focusCell("a");
  await pressKeys({ key: "J", code: "KeyJ", shiftKey: true });
  await pressKeys({ key: "ArrowDown", ctrlKey: true, shiftKey: true });
  await pressKeys({ key: "ArrowDown", ctrlKey: true, shiftKey: true });
  expect(store.get().notebook.order).toEqual(["b", "c", "a"]);
  expect(commands.moveCell).toHaveBeenCalledTimes(2);
  expect(focusedCellId()).toBe("a");
});

test("cells are inserted beside the selected one, and their type is changed", async () => {
  const { store } = await renderNotebook(threeCells());
  await focusCell("b");
  await pressKeys("a");
  expect(store.get().notebook.order).toEqual(["a", "new1", "b", "c"]);
  expect(focusedCellId()).toBe("new1");
  await pressKeys("b", "m");
  expect(store.get().notebook.order).toEqual(["a", "new1", "new2-markdown", "b", "c"]);
  expect(focusedCellId()).toBe("new2-markdown");
  await pressKeys("m", "y");
  expect(focusedCellId()).toBe("new2-markdown-code");
});

test("Shift-Enter runs the cell, selects the next one, and creates a cell at the end", async () => {
  const { store, commands } = await renderNotebook(
    stateOfCells([fakeCell("a"), fakeCell("b", "text", { type: "markdown" })]),
  );
  await focusCell("a");
  await pressKeys({ key: "Enter", shiftKey: true });
  expect(commands.runCell.mock.calls).toEqual([["a"]]);
  expect(focusedCellId()).toBe("b");
  await pressKeys({ key: "Enter", shiftKey: true });
  expect(commands.runCell).toHaveBeenCalledTimes(1);
  expect(store.get().notebook.order).toEqual(["a", "b", "new1"]);
});

test("keys interrupt the running cell, and restart the kernel after confirmation", async () => {
  const { store, commands } = await renderNotebook(threeCells());
  await focusCell("a");
  await pressKeys("i", "i");
  expect(screen.getByText("No cell is running.")).toBeTruthy();
  await act(async () =>
    changeNotebookInStore(store, () => ({ executions: { c: fakeExecution({ status: "running", started: true }) } })),
  );
  await pressKeys("i", "i");
  expect(commands.stopCell.mock.calls).toEqual([["c"]]);
  await pressKeys("0", "0");
  const dialog = await screen.findByRole("dialog");
  await act(async () => fireEvent.click(within(dialog).getByRole("button", { name: "Cancel" })));
  expect(commands.restart).not.toHaveBeenCalled();
  await focusCell("a");
  await pressKeys("0", "0");
  await act(async () => fireEvent.click(await screen.findByRole("button", { name: "Restart" })));
  expect(commands.restart.mock.calls).toEqual([["kernel"]]);
});

test("buttons and keys say why cells cannot be run", async () => {
  const { commands } = await renderNotebook(threeCells(), { canRun: false });
  await focusCell("a");
  const button = within(drawnCells()[0] as HTMLElement).getByRole("button", { name: "Run the cell" });
  expect(button).toHaveProperty("disabled", true);
  expect(button.title).toContain("Another console owns this session");
  await pressKeys({ key: "Enter", ctrlKey: true });
  expect(commands.runCell).not.toHaveBeenCalled();
  expect(screen.getByText(/Another console owns this session/)).toBeTruthy();
});

test("buttons and keys say why no cell can be created", async () => {
  const { commands } = await renderNotebook(threeCells(), { addProblem: "The attempt has ended." });
  await focusCell("b");
  for (const name of ["Insert a cell above", "Insert a cell below", "Code", "Markdown"]) {
    const button = screen.getByRole<HTMLButtonElement>("button", { name });
    expect([button.disabled, button.title]).toEqual([true, "The attempt has ended."]);
  }
  await pressKeys("b");
  expect(commands.createCell).not.toHaveBeenCalled();
  expect(screen.getByText("The attempt has ended.")).toBeTruthy();
});

test("a read-only notebook has no controls, and keys do not change it", async () => {
  const { store } = await renderNotebook(stateOfCells([fakeCell("a"), fakeCell("b", "text", { type: "markdown" })]), {
    readOnly: true,
  });
  await focusCell("a");
  expect(within(screen.getByRole("list", { name: "Cells" })).queryAllByRole("button")).toEqual([]);
  await pressKeys("d", "d", "a", "b", "m", "Enter", { key: "Enter", shiftKey: true }, "0", "0", "z");
  expect(screen.queryByText(/Read-only/)).toBeNull();
  expect(store.get().notebook.order).toEqual(["a", "b"]);
  expect(document.querySelector(".cm-editor")).toBeNull();
  await pressKeys("j");
  expect(focusedCellId()).toBe("b");
});

test("an empty notebook shows a hint", async () => {
  const { store } = await renderNotebook(stateOfCells([]));
  expect(screen.getByText(/This notebook is empty/)).toBeTruthy();
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Code" })));
  expect(store.get().notebook.order).toEqual(["new1"]);
});

test("text typed after a cell was created from elsewhere in the page goes into that cell", async () => {
  const { navigation, commands, store } = await renderNotebook(stateOfCells([fakeCell("a", "first")]));
  let arrive = () => {};
  commands.createCell.mockImplementationOnce((position, type) => {
    return new Promise((resolve) => {
      arrive = () => {
        insertCellIntoStore(store, position, fakeCell("late", "", { type }));
        resolve("late");
      };
    });
  });
  await act(async () => navigation.addCell("markdown"));
  expect(commands.createCell).toHaveBeenCalledExactlyOnceWith(1, "markdown", "");
  await pressKeys("#", " ");
  await act(async () => arrive());
  await waitFor(() => expect(commands.editCell).toHaveBeenCalledWith("late", "# "));
});

test("a cell that cannot be created is reported", async () => {
  const { navigation, commands } = await renderNotebook(threeCells());
  commands.createCell.mockRejectedValueOnce(new Error("position: too far"));
  await act(async () => navigation.addCell("code"));
  expect(screen.getByText("The cell could not be created: position: too far")).toBeTruthy();
});

test("outputs are hidden and shown again", async () => {
  const output = { output_type: "stream" as const, name: "stdout" as const, text: "hi" };
  await renderNotebook(stateOfCells([fakeCell("a")], { executions: { a: fakeExecution({ outputs: [output] }) } }));
  await focusCell("a");
  await pressKeys("o");
  expect(screen.queryByText("outputs of a")).toBeNull();
  await act(async () => fireEvent.click(screen.getByText("Outputs are hidden. Show")));
  expect(screen.getByText("outputs of a")).toBeTruthy();
});

test("a link leads to its cell, even if the cell arrives later", async () => {
  const { navigation, store } = await renderNotebook(
    stateOfCells(Array.from({ length: 300 }, (_, i) => fakeCell(`c${i}`))),
  );
  await act(async () => navigation.jumpTo("c250"));
  expect(focusedCellId()).toBe("c250");
  await act(async () => navigation.jumpTo("soon"));
  await act(async () => insertCellIntoStore(store, 3, fakeCell("soon")));
  expect(focusedCellId()).toBe("soon");
});

test("a link to a missing cell shows a note", async () => {
  vi.useFakeTimers();
  try {
    const { navigation } = await renderNotebook(threeCells());
    await focusCell("b");
    await act(async () => navigation.jumpTo("none"));
    await act(async () => vi.advanceTimersByTimeAsync(2000));
    expect(screen.getByText("That cell is not in the notebook.")).toBeTruthy();
    expect(focusedCellId()).toBe("b");
  } finally {
    vi.useRealTimers();
  }
});

test("the search finds text in cells that are not drawn", async () => {
  await renderNotebook(
    stateOfCells(Array.from({ length: 300 }, (_, i) => fakeCell(`c${i}`, i % 100 === 50 ? "needle()" : "hay()"))),
  );
  await focusCell("c0");
  await pressKeys({ key: "f", ctrlKey: true });
  const input = await screen.findByRole("searchbox");
  expect(document.activeElement).toBe(input);
  await act(async () => fireEvent.change(input, { target: { value: "NEEDLE" } }));
  expect(await screen.findByText("3")).toBeTruthy();
  await pressKeys("Enter", "Enter");
  expect(await screen.findByText("2 of 3")).toBeTruthy();
  expect(document.activeElement).toBe(input);
  await waitFor(() => expect(document.querySelector('[data-cell="c150"] mark')?.textContent).toBe("needle"));
  await pressKeys("Escape");
  expect(focusedCellId()).toBe("c150");
});

test("a cell shows who changed it, its status and its duration", async () => {
  const lastChange = { by: "agent" as const, seq: 41 };
  await renderNotebook(
    stateOfCells([fakeCell("a", "x", { title: "Sum the rows", lastChange }), fakeCell("b")], {
      executions: { a: fakeExecution({ status: "error", count: 3, durationMs: 1234 }) },
    }),
  );
  const [a, b] = drawnCells();
  expect(a?.textContent).toContain("[3]");
  expect(a?.textContent).toContain("Failed");
  expect(a?.textContent).toContain("1.2 s");
  expect(a?.textContent).toContain("agent, entry 41");
  expect(a?.getAttribute("aria-label")).toBe("Code cell 1, Sum the rows");
  expect(b?.textContent).not.toContain("agent");
});

test("the time of a run is updated while it runs", async () => {
  vi.useFakeTimers();
  try {
    const startedAt = performance.now();
    await renderNotebook(
      stateOfCells([fakeCell("a")], {
        executions: { a: fakeExecution({ status: "running", started: true, startedAt }) },
      }),
    );
    await act(async () => vi.advanceTimersByTimeAsync(2500));
    expect(drawnCells()[0]?.textContent).toContain("2.5 s");
  } finally {
    vi.useRealTimers();
  }
});

test("a conflict is shown, and the user chooses either text", async () => {
  const conflict = { theirs: "theirs = 1", keepMine: vi.fn(), takeTheirs: vi.fn() };
  await renderNotebook(threeCells(), { conflicts: { b: conflict } });
  const bar = screen.getByRole("alert");
  expect(bar.closest<HTMLElement>("[data-cell]")?.dataset.cell).toBe("b");
  await act(async () => fireEvent.click(within(bar).getByText("Show their text")));
  expect(bar.textContent).toContain("theirs = 1");
  await act(async () => fireEvent.click(within(bar).getByText("Keep mine")));
  expect(conflict.keepMine).toHaveBeenCalledTimes(1);
  await act(async () => fireEvent.click(within(bar).getByText("Take theirs")));
  expect(conflict.takeTheirs).toHaveBeenCalledTimes(1);
});

test("the user's text is in the editor again after a reload during a conflict", async () => {
  const conflict = { theirs: "# b", mine: "mine = 1", keepMine: vi.fn(), takeTheirs: vi.fn() };
  const { commands } = await renderNotebook(threeCells(), { conflicts: { b: conflict } });
  expect(document.querySelector('[data-cell="b"] code')?.textContent).toBe("mine = 1\n");
  await act(async () => fireEvent.click(screen.getByText("Take theirs")));
  expect(document.querySelector('[data-cell="b"] code')?.textContent).toBe("# b\n");
  expect(commands.editCell).not.toHaveBeenCalled();
});

test("the help lists the shortcuts", async () => {
  await renderNotebook(threeCells());
  await focusCell("a");
  await pressKeys({ key: "?", shiftKey: true });
  const dialog = await screen.findByRole("dialog");
  expect(dialog.textContent).toContain("Restore the last deleted cell");
  await act(async () => fireEvent.click(within(dialog).getByRole("button", { name: "Close" })));
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("malformed cells are drawn", async () => {
  const wrong = { source: 7, title: { a: 1 }, type: "poem" } as unknown as Partial<ReturnType<typeof fakeCell>>;
  const missing = stateOfCells([{ ...fakeCell("a"), ...wrong }, fakeCell("b", "evil \u202e text")]);
  const state = { ...missing, notebook: { ...missing.notebook, order: ["a", "b", "__proto__", "gone"] } };
  await renderNotebook(state);
  expect(drawnCells()).toHaveLength(4);
  expect(screen.getByTitle("U+202E")).toBeTruthy();
});

test("keys typed while a cell is being created go into that cell and affect no other", async () => {
  const { store, commands } = await renderNotebook(stateOfCells([fakeCell("a", "first")]));
  let arrive = () => {};
  commands.createCell.mockImplementationOnce(
    () =>
      new Promise((resolve) => {
        arrive = () => {
          insertCellIntoStore(store, 1, fakeCell("late", ""));
          resolve("late");
        };
      }),
  );
  await focusCell("a");
  await pressKeys({ key: "Enter", shiftKey: true }, "d", "d", "Backspace", "Enter", "b");
  expect(commands.deleteCell).not.toHaveBeenCalled();
  expect(commands.createCell).toHaveBeenCalledTimes(1);
  await act(async () => arrive());
  await waitFor(() => expect(commands.editCell).toHaveBeenCalledWith("late", "d\nb"));
});

test("keys are buffered at most 5 s for a cell that does not arrive, and a note says so", async () => {
  const { commands } = await renderNotebook(threeCells());
  commands.createCell.mockImplementationOnce(() => new Promise(() => {}));
  await focusCell("a");
  const now = performance.now();
  const clock = vi.spyOn(performance, "now").mockReturnValue(now);
  await pressKeys("b", "j");
  expect(focusedCellId()).toBe("a");
  clock.mockReturnValue(now + 5001);
  await pressKeys("j");
  clock.mockRestore();
  expect(focusedCellId()).toBe("b");
  expect(screen.getByText(/^The server did not respond in time/)).toBeTruthy();
});

test("a key restores a cell whose deletion has arrived before its response", async () => {
  const { store, commands } = await renderNotebook(threeCells());
  let answer = () => {};
  commands.deleteCell.mockImplementationOnce((id) => {
    removeCellFromStore(store, id);
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  await focusCell("b");
  await pressKeys("d", "d", "z");
  expect(store.get().notebook.order).toEqual(["a", "c"]);
  await act(async () => answer());
  await waitFor(() => expect(store.get().notebook.order).toEqual(["a", "new1", "c"]));
});

test("keys are buffered for a deletion whose response arrives before its change", async () => {
  const { store, commands } = await renderNotebook(threeCells());
  commands.deleteCell.mockImplementationOnce(async () => {});
  await focusCell("a");
  await pressKeys("d", "d", "d", "d");
  expect(commands.deleteCell).toHaveBeenCalledTimes(1);
  await act(async () => removeCellFromStore(store, "a"));
  await waitFor(() => expect(store.get().notebook.order).toEqual(["c"]));
});

test("a deletion whose response is lost can be undone once the cell is gone", async () => {
  const { store, commands } = await renderNotebook(threeCells());
  commands.deleteCell.mockRejectedValueOnce(new Error("the connection was lost"));
  await focusCell("b");
  await pressKeys("d", "d", "z");
  expect(store.get().notebook.order).toEqual(["a", "b", "c"]);
  await act(async () => removeCellFromStore(store, "b"));
  await pressKeys("z");
  expect(store.get().notebook.order).toEqual(["a", "new1", "c"]);
});

test("commands that depend on a pending change are carried out one after the other", async () => {
  const { store, commands } = await renderNotebook(threeCells());
  const waiting: (() => void)[] = [];
  commands.moveCell.mockImplementation(
    (id, position) =>
      new Promise((resolve) => {
        waiting.push(() => {
          moveCellInStore(store, id, position);
          resolve();
        });
      }),
  );
  await focusCell("a");
  const down = { key: "J", shiftKey: true };
  await pressKeys(down, down, "b", "m", "Enter", "#", { key: "Enter", shiftKey: true });
  await act(async () => waiting.shift()?.());
  expect(store.get().notebook.order).toEqual(["b", "a", "c"]);
  await waitFor(() => expect(waiting).toHaveLength(1));
  await act(async () => waiting.shift()?.());
  await waitFor(() => expect(commands.editCell).toHaveBeenCalledWith("new1-markdown", "#"));
  await waitFor(() => expect(store.get().notebook.order).toEqual(["b", "c", "a", "new1-markdown", "new2"]));
});

test("a click elsewhere while a cell is being created moves the keys there", async () => {
  const { commands } = await renderNotebook(threeCells());
  commands.createCell.mockImplementationOnce(() => new Promise(() => {}));
  await focusCell("a");
  await pressKeys("b");
  const c = drawnCells()[2];
  if (c) fireEvent.pointerDown(c);
  await focusCell("c");
  await pressKeys("k");
  expect(focusedCellId()).toBe("b");
});

test("only the cell under the pointer shows its controls", async () => {
  await renderNotebook(threeCells());
  await focusCell("a");
  await act(async () => fireEvent.pointerEnter(drawnCells()[1] as HTMLElement));
  const bars = screen.getAllByRole("toolbar", { name: "Cell" });
  expect(bars.map((bar) => bar.className.includes("aside"))).toEqual([true, false]);
  await act(async () => fireEvent.pointerLeave(drawnCells()[1] as HTMLElement));
  expect(screen.getAllByRole("toolbar", { name: "Cell" })).toHaveLength(1);
});

test("a note says that a cell was restored without its outputs", async () => {
  const output = { output_type: "stream" as const, name: "stdout" as const, text: "hi" };
  await renderNotebook(
    stateOfCells([fakeCell("a"), fakeCell("b")], { executions: { a: fakeExecution({ outputs: [output] }) } }),
  );
  await focusCell("a");
  await pressKeys("d", "d", "z");
  expect(screen.getByText("Cell restored. Run it again for its outputs.")).toBeTruthy();
});

test("the mark of an agent's change shows its time if known, and no link to an unknown entry", async () => {
  const by = "agent" as const;
  const at = new Date(2026, 1, 3, 10, 32).getTime();
  await renderNotebook(
    stateOfCells([
      fakeCell("a", "x", { lastChange: { by, seq: 41, at } }),
      fakeCell("b", "y", { lastChange: { by, seq: 0 } }),
    ]),
  );
  expect(drawnCells()[0]?.textContent).toMatch(/agent, 10:32/);
  expect(drawnCells()[1]?.textContent).not.toContain("entry");
});
