import { act, cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  changeNotebook,
  fakeCell,
  fakeExecution,
  insertCell,
  moveCell,
  removeCell,
  renderNotebook,
  stateOf,
} from "./fakeNotebook";

vi.mock("../widgets/CellOutputs", () => ({
  CellOutputs: ({ cellId }: { cellId: string }) => <output>outputs of {cellId}</output>,
}));
vi.mock("../outputs/Markdown", () => ({ Markdown: ({ source }: { source: string }) => <article>{source}</article> }));
vi.mock("../widgets/LiveWidgets", () => ({ Widgets: () => <input aria-label="a widget" /> }));

const three = () => stateOf([fakeCell("a"), fakeCell("b"), fakeCell("c")]);

beforeEach(() => {
  Element.prototype.scrollTo ??= () => {};
});
afterEach(cleanup);

function cells(): HTMLElement[] {
  return screen.getAllByRole("listitem");
}

function focused(): string | undefined {
  return document.activeElement instanceof HTMLElement ? document.activeElement.dataset.cell : undefined;
}

async function press(...keys: (string | KeyboardEventInit)[]): Promise<void> {
  for (const key of keys) {
    const init = typeof key === "string" ? { key } : key;
    await act(async () => {
      fireEvent.keyDown(document.activeElement ?? document.body, init);
    });
  }
}

async function focusCell(id: string): Promise<void> {
  await act(async () =>
    cells()
      .find((each) => each.dataset.cell === id)
      ?.focus(),
  );
}

test("of 2,000 cells only a window is drawn", async () => {
  await renderNotebook(stateOf(Array.from({ length: 2000 }, (_, i) => fakeCell(`c${i}`))));
  expect(cells().length).toBeGreaterThan(7);
  expect(cells().length).toBeLessThan(40);
  expect(cells()[0]?.getAttribute("aria-setsize")).toBe("2000");
});

test("the selected cell stays drawn when the list is scrolled away from it", async () => {
  await renderNotebook(stateOf(Array.from({ length: 2000 }, (_, i) => fakeCell(`c${i}`))));
  await focusCell("c3");
  const scroller = cells()[0]?.closest<HTMLElement>('[tabindex="-1"]:not([data-cell])');
  await act(async () => {
    if (scroller) {
      scroller.scrollTop = 100_000;
      fireEvent.scroll(scroller);
    }
  });
  const drawn = cells().map((each) => each.dataset.cell);
  expect(drawn[0]).toBe("c3");
  expect(Number(drawn[1]?.slice(1))).toBeGreaterThan(500);
  expect(drawn.length).toBeLessThan(40);
  expect(focused()).toBe("c3");
});

test("one cell is in the order of Tab, and the arrows go from cell to cell", async () => {
  await renderNotebook(three());
  expect(cells().map((each) => each.tabIndex)).toEqual([0, -1, -1]);
  await focusCell("a");
  await press("ArrowDown", "j");
  expect(focused()).toBe("c");
  expect(cells().map((each) => each.tabIndex)).toEqual([-1, -1, 0]);
  await press("j", "k");
  expect(focused()).toBe("b");
});

test("keys do nothing in a widget, and with one pressed first that is not theirs", async () => {
  const shown = fakeExecution({ widgets: { "b/w": { type: "button" } } });
  const { commands } = await renderNotebook(
    stateOf([fakeCell("a"), fakeCell("b"), fakeCell("c")], { executions: { b: shown } }),
  );
  const widget = await screen.findByLabelText("a widget");
  await act(async () => widget.focus());
  await press("d", "d", "b", "j", "m");
  expect(commands.deleteCell).not.toHaveBeenCalled();
  expect(commands.createCell).not.toHaveBeenCalled();
  await focusCell("b");
  await press("d", "x", "d");
  expect(commands.deleteCell).not.toHaveBeenCalled();
});

test("a key that is held down deletes nothing", async () => {
  const { commands } = await renderNotebook(three());
  await focusCell("b");
  await press("d", { key: "d", repeat: true }, { key: "d", repeat: true });
  expect(commands.deleteCell).not.toHaveBeenCalled();
});

test("deleted cells come back one by one: source, type, title, place", async () => {
  const cellsThen = [
    fakeCell("a"),
    fakeCell("b", "# text", { type: "markdown", title: "Why" }),
    fakeCell("c", "x = 1"),
    fakeCell("d"),
  ];
  const { store, commands } = await renderNotebook(stateOf(cellsThen));
  await focusCell("b");
  await press("d", "d");
  expect(focused()).toBe("c");
  await press("d", "d");
  expect(focused()).toBe("d");
  expect(store.get().notebook.order).toEqual(["a", "d"]);
  await press("z", "z");
  expect(commands.createCell.mock.calls).toEqual([
    [1, "code", "x = 1", ""],
    [1, "markdown", "# text", "Why"],
  ]);
  expect(store.get().notebook.order).toEqual(["a", "new2", "new1", "d"]);
  expect(focused()).toBe("new2");
  await press("z");
  expect(screen.getByText("No deleted cell to restore.")).toBeTruthy();
});

test("the line that tells of a deletion takes it back", async () => {
  const { store } = await renderNotebook(three());
  await focusCell("b");
  await press("d", "d");
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Undo" })));
  expect(store.get().notebook.order).toEqual(["a", "new1", "c"]);
  expect(focused()).toBe("new1");
  expect(screen.queryByText("Cell deleted.")).toBeNull();
});

test("a deletion that is refused is told, and can be tried again", async () => {
  const { commands } = await renderNotebook(three());
  commands.deleteCell.mockRejectedValueOnce(new Error("the attempt has ended"));
  await focusCell("b");
  await press("d", "d");
  expect(screen.getByText("The cell could not be deleted: the attempt has ended")).toBeTruthy();
  await press("d", "d");
  expect(commands.deleteCell).toHaveBeenCalledTimes(2);
});

test("the focus outlives whatever others delete and move", async () => {
  const { store } = await renderNotebook(three());
  await focusCell("b");
  await act(async () => moveCell(store, "b", 0));
  expect(focused()).toBe("b");
  await act(async () => insertCell(store, 0, fakeCell("x")));
  expect(focused()).toBe("b");
  await act(async () => removeCell(store, "b"));
  expect(focused()).toBe("a");
  await act(async () => {
    removeCell(store, "a");
    removeCell(store, "c");
  });
  expect(focused()).toBe("x");
});

test("keys move the cell, as far as it goes", async () => {
  const { store, commands } = await renderNotebook(three());
  await focusCell("a");
  await press({ key: "J", code: "KeyJ", shiftKey: true });
  await press({ key: "ArrowDown", ctrlKey: true, shiftKey: true });
  await press({ key: "ArrowDown", ctrlKey: true, shiftKey: true });
  expect(store.get().notebook.order).toEqual(["b", "c", "a"]);
  expect(commands.moveCell).toHaveBeenCalledTimes(2);
  expect(focused()).toBe("a");
});

test("cells are inserted beside the selected one, and become another type", async () => {
  const { store } = await renderNotebook(three());
  await focusCell("b");
  await press("a");
  expect(store.get().notebook.order).toEqual(["a", "new1", "b", "c"]);
  expect(focused()).toBe("new1");
  await press("b", "m");
  expect(store.get().notebook.order).toEqual(["a", "new1", "new2-markdown", "b", "c"]);
  expect(focused()).toBe("new2-markdown");
  await press("m", "y");
  expect(focused()).toBe("new2-markdown-code");
});

test("Shift-Enter runs and goes on, and makes a cell at the end", async () => {
  const { store, commands } = await renderNotebook(
    stateOf([fakeCell("a"), fakeCell("b", "text", { type: "markdown" })]),
  );
  await focusCell("a");
  await press({ key: "Enter", shiftKey: true });
  expect(commands.runCell.mock.calls).toEqual([["a"]]);
  expect(focused()).toBe("b");
  await press({ key: "Enter", shiftKey: true });
  expect(commands.runCell).toHaveBeenCalledTimes(1);
  expect(store.get().notebook.order).toEqual(["a", "b", "new1"]);
});

test("the running cell is interrupted, and the kernel restarted when that was meant", async () => {
  const { store, commands } = await renderNotebook(three());
  await focusCell("a");
  await press("i", "i");
  expect(screen.getByText("No cell is running.")).toBeTruthy();
  await act(async () =>
    changeNotebook(store, () => ({ executions: { c: fakeExecution({ status: "running", started: true }) } })),
  );
  await press("i", "i");
  expect(commands.stopCell.mock.calls).toEqual([["c"]]);
  await press("0", "0");
  const dialog = await screen.findByRole("dialog");
  await act(async () => fireEvent.click(within(dialog).getByRole("button", { name: "Cancel" })));
  expect(commands.restart).not.toHaveBeenCalled();
  await focusCell("a");
  await press("0", "0");
  await act(async () => fireEvent.click(await screen.findByRole("button", { name: "Restart" })));
  expect(commands.restart.mock.calls).toEqual([["kernel"]]);
});

test("where cells cannot be run the buttons and the keys say why", async () => {
  const { commands } = await renderNotebook(three(), { canRun: false });
  await focusCell("a");
  const button = within(cells()[0] as HTMLElement).getByRole("button", { name: "Run the cell" });
  expect(button).toHaveProperty("disabled", true);
  expect(button.title).toContain("Another console owns this session");
  await press({ key: "Enter", ctrlKey: true });
  expect(commands.runCell).not.toHaveBeenCalled();
  expect(screen.getByText(/Another console owns this session/)).toBeTruthy();
});

test("where no cell can be made the buttons and the keys say why", async () => {
  const { commands } = await renderNotebook(three(), { addProblem: "The attempt has ended." });
  await focusCell("b");
  for (const name of ["Insert a cell above", "Insert a cell below", "Code", "Markdown"]) {
    const button = screen.getByRole<HTMLButtonElement>("button", { name });
    expect([button.disabled, button.title]).toEqual([true, "The attempt has ended."]);
  }
  await press("b");
  expect(commands.createCell).not.toHaveBeenCalled();
  expect(screen.getByText("The attempt has ended.")).toBeTruthy();
});

test("a notebook that is only looked at has no controls, and keys that change it do nothing", async () => {
  const { store } = await renderNotebook(stateOf([fakeCell("a"), fakeCell("b", "text", { type: "markdown" })]), {
    readOnly: true,
  });
  await focusCell("a");
  expect(within(screen.getByRole("list", { name: "Cells" })).queryAllByRole("button")).toEqual([]);
  await press("d", "d", "a", "b", "m", "Enter", { key: "Enter", shiftKey: true }, "0", "0", "z");
  expect(screen.queryByText(/Read-only/)).toBeNull();
  expect(store.get().notebook.order).toEqual(["a", "b"]);
  expect(document.querySelector(".cm-editor")).toBeNull();
  await press("j");
  expect(focused()).toBe("b");
});

test("an empty notebook says what to do", async () => {
  const { store } = await renderNotebook(stateOf([]));
  expect(screen.getByText(/This notebook is empty/)).toBeTruthy();
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Code" })));
  expect(store.get().notebook.order).toEqual(["new1"]);
});

test("what is typed after a cell was asked for elsewhere in the page goes into that cell", async () => {
  const { navigation, commands, store } = await renderNotebook(stateOf([fakeCell("a", "first")]));
  let arrive = () => {};
  commands.createCell.mockImplementationOnce((position, type) => {
    return new Promise((resolve) => {
      arrive = () => {
        insertCell(store, position, fakeCell("late", "", { type }));
        resolve("late");
      };
    });
  });
  await act(async () => navigation.addCell("markdown"));
  expect(commands.createCell).toHaveBeenCalledExactlyOnceWith(1, "markdown", "");
  await press("#", " ");
  await act(async () => arrive());
  await waitFor(() => expect(commands.editCell).toHaveBeenCalledWith("late", "# "));
});

test("a cell that cannot be made is told of", async () => {
  const { navigation, commands } = await renderNotebook(three());
  commands.createCell.mockRejectedValueOnce(new Error("position: too far"));
  await act(async () => navigation.addCell("code"));
  expect(screen.getByText("The cell could not be created: position: too far")).toBeTruthy();
});

test("outputs are folded away and shown again", async () => {
  const output = { output_type: "stream" as const, name: "stdout" as const, text: "hi" };
  await renderNotebook(stateOf([fakeCell("a")], { executions: { a: fakeExecution({ outputs: [output] }) } }));
  await focusCell("a");
  await press("o");
  expect(screen.queryByText("outputs of a")).toBeNull();
  await act(async () => fireEvent.click(screen.getByText("Outputs are hidden. Show")));
  expect(screen.getByText("outputs of a")).toBeTruthy();
});

test("a link leads to its cell, also to one that is still to come", async () => {
  const { navigation, store } = await renderNotebook(stateOf(Array.from({ length: 300 }, (_, i) => fakeCell(`c${i}`))));
  await act(async () => navigation.jumpTo("c250"));
  expect(focused()).toBe("c250");
  await act(async () => navigation.jumpTo("soon"));
  await act(async () => insertCell(store, 3, fakeCell("soon")));
  expect(focused()).toBe("soon");
});

test("a link that leads to no cell says so", async () => {
  vi.useFakeTimers();
  try {
    const { navigation } = await renderNotebook(three());
    await focusCell("b");
    await act(async () => navigation.jumpTo("none"));
    await act(async () => vi.advanceTimersByTimeAsync(2000));
    expect(screen.getByText("That cell is not in the notebook.")).toBeTruthy();
    expect(focused()).toBe("b");
  } finally {
    vi.useRealTimers();
  }
});

test("the search finds text in cells that are not drawn", async () => {
  await renderNotebook(
    stateOf(Array.from({ length: 300 }, (_, i) => fakeCell(`c${i}`, i % 100 === 50 ? "needle()" : "hay()"))),
  );
  await focusCell("c0");
  await press({ key: "f", ctrlKey: true });
  const input = await screen.findByRole("searchbox");
  expect(document.activeElement).toBe(input);
  await act(async () => fireEvent.change(input, { target: { value: "NEEDLE" } }));
  expect(await screen.findByText("3")).toBeTruthy();
  await press("Enter", "Enter");
  expect(await screen.findByText("2 of 3")).toBeTruthy();
  expect(document.activeElement).toBe(input);
  await waitFor(() => expect(document.querySelector('[data-cell="c150"] mark')?.textContent).toBe("needle"));
  await press("Escape");
  expect(focused()).toBe("c150");
});

test("a cell says who changed it, how it stands and how long it took", async () => {
  const lastChange = { by: "agent" as const, seq: 41 };
  await renderNotebook(
    stateOf([fakeCell("a", "x", { title: "Sum the rows", lastChange }), fakeCell("b")], {
      executions: { a: fakeExecution({ status: "error", count: 3, durationMs: 1234 }) },
    }),
  );
  const [a, b] = cells();
  expect(a?.textContent).toContain("[3]");
  expect(a?.textContent).toContain("Failed");
  expect(a?.textContent).toContain("1.2 s");
  expect(a?.textContent).toContain("agent, entry 41");
  expect(a?.getAttribute("aria-label")).toBe("Code cell 1, Sum the rows");
  expect(b?.textContent).not.toContain("agent");
});

test("the time of a run goes on while it runs", async () => {
  vi.useFakeTimers();
  try {
    const startedAt = performance.now();
    await renderNotebook(
      stateOf([fakeCell("a")], { executions: { a: fakeExecution({ status: "running", started: true, startedAt }) } }),
    );
    await act(async () => vi.advanceTimersByTimeAsync(2500));
    expect(cells()[0]?.textContent).toContain("2.5 s");
  } finally {
    vi.useRealTimers();
  }
});

test("a conflict is shown, and either text can be taken", async () => {
  const conflict = { theirs: "theirs = 1", keepMine: vi.fn(), takeTheirs: vi.fn() };
  await renderNotebook(three(), { conflicts: { b: conflict } });
  const bar = screen.getByRole("alert");
  expect(bar.closest<HTMLElement>("[data-cell]")?.dataset.cell).toBe("b");
  await act(async () => fireEvent.click(within(bar).getByText("Show their text")));
  expect(bar.textContent).toContain("theirs = 1");
  await act(async () => fireEvent.click(within(bar).getByText("Keep mine")));
  expect(conflict.keepMine).toHaveBeenCalledTimes(1);
  await act(async () => fireEvent.click(within(bar).getByText("Take theirs")));
  expect(conflict.takeTheirs).toHaveBeenCalledTimes(1);
});

test("one's own text is in the editor again when the page was loaded anew in a conflict", async () => {
  const conflict = { theirs: "# b", mine: "mine = 1", keepMine: vi.fn(), takeTheirs: vi.fn() };
  const { commands } = await renderNotebook(three(), { conflicts: { b: conflict } });
  expect(document.querySelector('[data-cell="b"] code')?.textContent).toBe("mine = 1\n");
  await act(async () => fireEvent.click(screen.getByText("Take theirs")));
  expect(document.querySelector('[data-cell="b"] code')?.textContent).toBe("# b\n");
  expect(commands.editCell).not.toHaveBeenCalled();
});

test("the table of keys is shown on asking", async () => {
  await renderNotebook(three());
  await focusCell("a");
  await press({ key: "?", shiftKey: true });
  const dialog = await screen.findByRole("dialog");
  expect(dialog.textContent).toContain("Restore the last deleted cell");
  await act(async () => fireEvent.click(within(dialog).getByRole("button", { name: "Close" })));
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("cells of the wrong shape are drawn all the same", async () => {
  const wrong = { source: 7, title: { a: 1 }, type: "poem" } as unknown as Partial<ReturnType<typeof fakeCell>>;
  const missing = stateOf([{ ...fakeCell("a"), ...wrong }, fakeCell("b", "evil \u202e text")]);
  const state = { ...missing, notebook: { ...missing.notebook, order: ["a", "b", "__proto__", "gone"] } };
  await renderNotebook(state);
  expect(cells()).toHaveLength(4);
  expect(screen.getByTitle("U+202E")).toBeTruthy();
});

test("what is typed while a new cell is on its way goes into that cell, and acts on no other", async () => {
  const { store, commands } = await renderNotebook(stateOf([fakeCell("a", "first")]));
  let arrive = () => {};
  commands.createCell.mockImplementationOnce(
    () =>
      new Promise((resolve) => {
        arrive = () => {
          insertCell(store, 1, fakeCell("late", ""));
          resolve("late");
        };
      }),
  );
  await focusCell("a");
  await press({ key: "Enter", shiftKey: true }, "d", "d", "Backspace", "Enter", "b");
  expect(commands.deleteCell).not.toHaveBeenCalled();
  expect(commands.createCell).toHaveBeenCalledTimes(1);
  await act(async () => arrive());
  await waitFor(() => expect(commands.editCell).toHaveBeenCalledWith("late", "d\nb"));
});

test("keys are held no longer than 5 s for a cell that does not come, and that is said", async () => {
  const { commands } = await renderNotebook(three());
  commands.createCell.mockImplementationOnce(() => new Promise(() => {}));
  await focusCell("a");
  const now = performance.now();
  const clock = vi.spyOn(performance, "now").mockReturnValue(now);
  await press("b", "j");
  expect(focused()).toBe("a");
  clock.mockReturnValue(now + 5001);
  await press("j");
  clock.mockRestore();
  expect(focused()).toBe("b");
  expect(screen.getByText(/^The server did not respond in time/)).toBeTruthy();
});

test("a cell whose deletion is seen before it is answered is brought back by the key that came between", async () => {
  const { store, commands } = await renderNotebook(three());
  let answer = () => {};
  commands.deleteCell.mockImplementationOnce((id) => {
    removeCell(store, id);
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  await focusCell("b");
  await press("d", "d", "z");
  expect(store.get().notebook.order).toEqual(["a", "c"]);
  await act(async () => answer());
  await waitFor(() => expect(store.get().notebook.order).toEqual(["a", "new1", "c"]));
});

test("keys wait for a deletion that is answered before it is seen", async () => {
  const { store, commands } = await renderNotebook(three());
  commands.deleteCell.mockImplementationOnce(async () => {});
  await focusCell("a");
  await press("d", "d", "d", "d");
  expect(commands.deleteCell).toHaveBeenCalledTimes(1);
  await act(async () => removeCell(store, "a"));
  await waitFor(() => expect(store.get().notebook.order).toEqual(["c"]));
});

test("a deletion whose answer is lost can be undone when the cell is gone", async () => {
  const { store, commands } = await renderNotebook(three());
  commands.deleteCell.mockRejectedValueOnce(new Error("the connection was lost"));
  await focusCell("b");
  await press("d", "d", "z");
  expect(store.get().notebook.order).toEqual(["a", "b", "c"]);
  await act(async () => removeCell(store, "b"));
  await press("z");
  expect(store.get().notebook.order).toEqual(["a", "new1", "c"]);
});

test("commands that come before the change they build on are done one after the other", async () => {
  const { store, commands } = await renderNotebook(three());
  const waiting: (() => void)[] = [];
  commands.moveCell.mockImplementation(
    (id, position) =>
      new Promise((resolve) => {
        waiting.push(() => {
          moveCell(store, id, position);
          resolve();
        });
      }),
  );
  await focusCell("a");
  const down = { key: "J", shiftKey: true };
  await press(down, down, "b", "m", "Enter", "#", { key: "Enter", shiftKey: true });
  await act(async () => waiting.shift()?.());
  expect(store.get().notebook.order).toEqual(["b", "a", "c"]);
  await waitFor(() => expect(waiting).toHaveLength(1));
  await act(async () => waiting.shift()?.());
  await waitFor(() => expect(commands.editCell).toHaveBeenCalledWith("new1-markdown", "#"));
  await waitFor(() => expect(store.get().notebook.order).toEqual(["b", "c", "a", "new1-markdown", "new2"]));
});

test("who clicks elsewhere while a cell is on its way has the keys there", async () => {
  const { commands } = await renderNotebook(three());
  commands.createCell.mockImplementationOnce(() => new Promise(() => {}));
  await focusCell("a");
  await press("b");
  const c = cells()[2];
  if (c) fireEvent.pointerDown(c);
  await focusCell("c");
  await press("k");
  expect(focused()).toBe("b");
});

test("only the cell that is pointed at shows its controls", async () => {
  await renderNotebook(three());
  await focusCell("a");
  await act(async () => fireEvent.pointerEnter(cells()[1] as HTMLElement));
  const bars = screen.getAllByRole("toolbar", { name: "Cell" });
  expect(bars.map((bar) => bar.className.includes("aside"))).toEqual([true, false]);
  await act(async () => fireEvent.pointerLeave(cells()[1] as HTMLElement));
  expect(screen.getAllByRole("toolbar", { name: "Cell" })).toHaveLength(1);
});

test("a cell that comes back without its outputs says so", async () => {
  const output = { output_type: "stream" as const, name: "stdout" as const, text: "hi" };
  await renderNotebook(
    stateOf([fakeCell("a"), fakeCell("b")], { executions: { a: fakeExecution({ outputs: [output] }) } }),
  );
  await focusCell("a");
  await press("d", "d", "z");
  expect(screen.getByText("Cell restored. Run it again for its outputs.")).toBeTruthy();
});

test("of a change of the agent's the time is told where the trace has it, and no entry that is not known", async () => {
  const by = "agent" as const;
  const at = new Date(2026, 1, 3, 10, 32).getTime();
  await renderNotebook(
    stateOf([
      fakeCell("a", "x", { lastChange: { by, seq: 41, at } }),
      fakeCell("b", "y", { lastChange: { by, seq: 0 } }),
    ]),
  );
  expect(cells()[0]?.textContent).toMatch(/agent, 10:32/);
  expect(cells()[1]?.textContent).not.toContain("entry");
});
