import { act, cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Commands, CommandsProvider } from "../commands/commands";
import type { Output, Widget } from "../protocol/messages";
import { initialState } from "../store/reducer";
import type { Execution } from "../store/state";
import { createStore, type Store, StoreProvider } from "../store/store";
import { LiveWidgets } from "./LiveWidgets";
import { useOutputsWithoutPlots } from "./useWidgets";

vi.mock("../outputs/OutputList", () => ({
  OutputList: ({ outputs }: { outputs: readonly Output[] }) => <p>{outputs.length} outputs</p>,
}));
vi.mock("../outputs/Markdown", () => ({ Markdown: ({ source }: { source: string }) => <p>markdown: {source}</p> }));

type WidgetStatesByKey = Record<string, unknown>;

const idleExecution: Execution = {
  status: "ran",
  pending: false,
  started: false,
  sequencer: 1,
  count: 1,
  outputs: [],
  widgets: {},
};

/** Changes fields of a cell's run. Widgets are given by their key within the cell. */
function changeExecution(
  store: Store,
  { widgets, ...fields }: Partial<Omit<Execution, "widgets">> & { widgets?: WidgetStatesByKey },
  id = "c",
) {
  store.update((state) => {
    const before = state.notebook.executions[id] ?? idleExecution;
    const states =
      widgets && Object.fromEntries(Object.entries(widgets).map(([key, w]) => [`${id}/${key}`, w as Widget]));
    const run = { ...before, ...fields, ...(states && { widgets: states }) };
    return { ...state, notebook: { ...state.notebook, executions: { ...state.notebook.executions, [id]: run } } };
  });
}

function renderWidgets(widgets: WidgetStatesByKey, { commands = true, canRun = true, runProblem = "" } = {}) {
  const store = createStore(initialState);
  changeExecution(store, { widgets });
  const setWidget = vi.fn((_key: string, _value: unknown) => Promise.resolve());
  const offered = { canRun, runProblem, setWidget } as Partial<Commands> as Commands;
  render(
    <StoreProvider value={store}>
      <CommandsProvider value={commands ? offered : null}>
        <LiveWidgets cellId="c" />
        <OutputsLeftCount />
      </CommandsProvider>
    </StoreProvider>,
  );
  return { store, setWidget };
}

/** Shows how many outputs are not shown by widgets. */
function OutputsLeftCount() {
  return <p>{useOutputsWithoutPlots("c")?.length ?? 0} left</p>;
}

const flushTimers = () => act(() => vi.advanceTimersByTimeAsync(0));

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

describe("a control", () => {
  it("sends the value of the chosen option unchanged", async () => {
    const day = { date: "2024-05-01" };
    const { setWidget } = renderWidgets({
      w: { type: "select", label: "Day", options: [1, day, null], value: 1, required: true },
    });
    fireEvent.change(screen.getByLabelText("Day"), { target: { value: "1" } });
    fireEvent.change(screen.getByLabelText("Day"), { target: { value: "2" } });
    expect(setWidget.mock.calls).toEqual([
      ["c/w", day],
      ["c/w", null],
    ]);
  });

  it("can be cleared unless an option is required", () => {
    const { setWidget } = renderWidgets({ w: { type: "select", label: "S", options: ["a"], value: "a" } });
    fireEvent.change(screen.getByLabelText("S"), { target: { value: "none" } });
    expect(setWidget).toHaveBeenCalledWith("c/w", null);
  });

  it("shows a value that is not an option as such", () => {
    renderWidgets({ w: { type: "select", label: "S", options: ["a", "b"], value: "gone" } });
    expect(screen.getByRole<HTMLOptionElement>("option", { name: "gone (not an option)" }).selected).toBe(true);
  });

  it("searches 10,000 options by keyboard", () => {
    const options = Array.from({ length: 10_000 }, (_, n) => `gene ${n}`);
    const { setWidget } = renderWidgets({ w: { type: "select", label: "Gene", options, value: "gene 3" } });
    fireEvent.click(screen.getByLabelText("Gene"));
    expect(screen.getAllByRole("option").length).toBe(200);
    const box = screen.getByRole("combobox");
    fireEvent.change(box, { target: { value: "999" } });
    expect(screen.getByText("19 of 10,000 options")).toBeDefined();
    fireEvent.keyDown(box, { key: "ArrowDown" });
    fireEvent.keyDown(box, { key: "Enter" });
    expect(setWidget).toHaveBeenCalledWith("c/w", "gene 1999");
    expect(screen.queryByRole("combobox")).toBeNull();
  });

  it("sends several chosen options in the order of the options", () => {
    const { setWidget } = renderWidgets({
      w: { type: "multi_select", label: "M", options: ["a", "b", 3], value: [3] },
    });
    fireEvent.click(screen.getByLabelText("a"));
    expect(setWidget).toHaveBeenCalledWith("c/w", ["a", 3]);
    fireEvent.click(screen.getByLabelText("3"));
    expect(setWidget).toHaveBeenLastCalledWith("c/w", ["a"]);
  });

  it("sets a radio, a checkbox and a button", () => {
    const { setWidget } = renderWidgets({
      r: { type: "radio", label: "R", options: ["x", "y"], value: "x" },
      k: { type: "checkbox", label: "K", value: false },
      b: { type: "button", label: "B", value: 4 },
    });
    fireEvent.click(screen.getByLabelText("y"));
    fireEvent.click(screen.getByLabelText("K"));
    fireEvent.click(screen.getByRole("button", { name: "B" }));
    expect(setWidget.mock.calls).toEqual([
      ["c/r", "y"],
      ["c/k", true],
      ["c/b", true],
    ]);
  });

  it("limits how often a dragged slider sends, and sends the last value on release", () => {
    const { setWidget } = renderWidgets({ w: { type: "slider", label: "S", min: 0, max: 100, step: 1, value: 0 } });
    const slider = screen.getByLabelText("S");
    for (const value of [10, 20, 30]) fireEvent.change(slider, { target: { value } });
    expect(setWidget.mock.calls.map(([, value]) => value)).toEqual([10]);
    expect(screen.getByText("30")).toBeDefined();
    fireEvent.pointerUp(slider);
    expect(setWidget.mock.calls.map(([, value]) => value)).toEqual([10, 30]);
  });

  it("does not let the thumbs of a range slider pass each other", () => {
    const { setWidget } = renderWidgets({
      w: { type: "range_slider", label: "W", min: 0, max: 10, step: 1, value: [2, 4] },
    });
    fireEvent.change(screen.getByLabelText("W, from"), { target: { value: 9 } });
    expect(setWidget).toHaveBeenCalledWith("c/w", [4, 4]);
  });

  it("sends a text when typing pauses, on Enter, and when the input loses the focus", () => {
    const { setWidget } = renderWidgets({ w: { type: "text_input", label: "T", value: "" } });
    const box = screen.getByLabelText("T");
    fireEvent.change(box, { target: { value: "a" } });
    act(() => vi.advanceTimersByTime(400));
    expect(setWidget).not.toHaveBeenCalled();
    fireEvent.change(box, { target: { value: "ab" } });
    act(() => vi.advanceTimersByTime(499));
    expect(setWidget).not.toHaveBeenCalled();
    act(() => vi.advanceTimersByTime(1));
    fireEvent.change(box, { target: { value: "abc" } });
    fireEvent.keyDown(box, { key: "Enter" });
    fireEvent.change(box, { target: { value: "abcd" } });
    fireEvent.blur(box);
    expect(setWidget.mock.calls.map(([, value]) => value)).toEqual(["ab", "abc", "abcd"]);
  });

  it("sends an unsent text when it is unmounted", () => {
    const { setWidget } = renderWidgets({ w: { type: "text_input", label: "T", value: "" } });
    fireEvent.change(screen.getByLabelText("T"), { target: { value: "typed" } });
    cleanup();
    expect(setWidget).toHaveBeenCalledWith("c/w", "typed");
  });

  it("shows why a value was refused, and the kernel's value", async () => {
    const { setWidget } = renderWidgets({ w: { type: "text_input", label: "T", value: "old" } });
    setWidget.mockReturnValueOnce(Promise.reject(new Error("too <b>long</b>")));
    fireEvent.change(screen.getByLabelText("T"), { target: { value: "new" } });
    fireEvent.blur(screen.getByLabelText("T"));
    expect(screen.getByLabelText<HTMLInputElement>("T").value).toBe("new");
    await flushTimers();
    expect(screen.getByRole("alert").textContent).toBe("Not set: too <b>long</b>");
    expect(screen.getByLabelText<HTMLInputElement>("T").value).toBe("old");
  });

  it("shows what it waits for after a second, until the kernel has reported the value", async () => {
    const { store } = renderWidgets({ w: { type: "checkbox", label: "K", value: false } });
    changeExecution(store, { started: true }, "other");
    fireEvent.click(screen.getByLabelText("K"));
    await act(() => vi.advanceTimersByTimeAsync(1_000));
    expect(screen.getByText(/takes effect when the running cells are done/)).toBeDefined();
    act(() => changeExecution(store, { widgets: { w: { type: "checkbox", label: "K", value: true } } }));
    expect(screen.queryByText(/counts when/)).toBeNull();
    expect(screen.getByLabelText<HTMLInputElement>("K").checked).toBe(true);
  });

  it("stays mounted while its own cell runs again", () => {
    const w = { type: "slider", label: "S", min: 0, max: 9, value: 3 };
    const { store } = renderWidgets({ w });
    const slider = screen.getByLabelText("S");
    act(() => changeExecution(store, { started: true, widgets: {} }));
    expect(screen.getByLabelText("S")).toBe(slider);
    act(() => changeExecution(store, { widgets: { w: { ...w, value: 4 } } }));
    expect(screen.getByLabelText("S")).toBe(slider);
    act(() => changeExecution(store, { started: false }));
    act(() => changeExecution(store, { widgets: {} }));
    expect(screen.queryByLabelText("S")).toBeNull();
  });
});

describe("a control that cannot be used", () => {
  const w = { type: "checkbox", label: "K", value: true };
  const why = () => {
    const box = screen.getByLabelText<HTMLInputElement>("K");
    return [box.disabled, document.getElementById(box.getAttribute("aria-describedby") ?? "")?.textContent];
  };

  it("says that it is read-only", () => {
    renderWidgets({ w: { ...w, label: "Fixed", readonly: true } });
    expect(screen.getByRole<HTMLInputElement>("checkbox", { name: /Fixed/ }).disabled).toBe(true);
    expect(screen.getByText("read-only")).toBeDefined();
  });

  it("says that the notebook is read-only", () => {
    renderWidgets({ w }, { commands: false });
    expect(why()).toEqual([true, "Read-only."]);
  });

  it("says why no widget can be set", () => {
    renderWidgets({ w }, { canRun: false, runProblem: "There is no connection to the server." });
    expect(why()).toEqual([true, "There is no connection to the server."]);
  });
});

describe("a widget's placement", () => {
  it("is inside its layout", () => {
    renderWidgets({
      k: { type: "checkbox", label: "K", value: true },
      r: { type: "row", items: [{ key: "c/k" }, { key: "c/gone" }] },
    });
    expect(screen.getAllByLabelText("K").length).toBe(1);
    expect(screen.getByText("There is no widget c/gone.")).toBeDefined();
  });

  it("may be in a layout of another cell, where it can be set too", () => {
    const { store, setWidget } = renderWidgets({ r: { type: "row", items: [{ key: "a/b/k" }] } });
    act(() => changeExecution(store, { widgets: { k: { type: "checkbox", label: "K", value: true } } }, "a/b"));
    fireEvent.click(screen.getByLabelText("K"));
    expect(setWidget).toHaveBeenCalledWith("a/b/k", false);
  });

  it("of a plot shows the output with its key", () => {
    const plot = (id?: string): Output => ({
      output_type: "display_data",
      data: {},
      metadata: {},
      ...(id && { transient: { display_id: id } }),
    });
    const { store } = renderWidgets({ p: { type: "plot", label: "Figure", display_id: "c/p", value: "c/p" } });
    expect(screen.getByText("The figure is no longer available.")).toBeDefined();
    act(() => changeExecution(store, { outputs: [plot(), plot("c/p"), plot("x")] }));
    expect(within(screen.getByRole("figure")).getByText("1 outputs")).toBeDefined();
    expect(screen.getByText("2 left")).toBeDefined();
  });
});

describe("invalid states", () => {
  const odd = [
    undefined,
    null,
    7,
    -0,
    "x",
    "<img src=x onerror=alert(1)>",
    true,
    [],
    [[[]]],
    {},
    { $float: "nan" },
    { key: {} },
  ];
  const types = ["select", "multi_select", "radio", "text_input", "checkbox", "button", "slider", "range_slider"];
  const showing = ["text_output", "table", "plot", "row", "column", "grid", "nothing", ""];
  const fields = [
    "label",
    "value",
    "options",
    "min",
    "max",
    "step",
    "marks",
    "scale_type",
    "tooltip_formatter",
    "appearance",
  ];
  const more = [
    "columns",
    "rows",
    "dtypes",
    "shape",
    "items",
    "content",
    "display_id",
    "direction",
    "readonly",
    "error",
  ];

  it.each([...types, ...showing])("of type %s do not throw, and no text in them becomes an element", (type) => {
    const complaint = vi.spyOn(console, "error").mockImplementation(() => {});
    const states = odd.map((value) => Object.fromEntries([...fields, ...more].map((field) => [field, value])));
    renderWidgets(Object.fromEntries(states.map((state, n) => [`w${n}`, { ...state, type }])));
    expect(complaint).not.toHaveBeenCalled();
    expect(screen.queryByText("This widget could not be shown.")).toBeNull();
    expect(document.querySelector("img, script")).toBeNull();
  });

  it("are shown as JSON if the type is unknown", () => {
    renderWidgets({ w: { type: "holo\u202egram", value: 1 }, n: null });
    expect(screen.getByText(/no control for a widget of type holo<U\+202E>gram/)).toBeDefined();
    expect(screen.getByText(/"value": 1/)).toBeDefined();
  });

  it("show the error of a state that was too large for the kernel to send", () => {
    renderWidgets({ w: { type: "table", label: "Big", error: "a frame has at most 64 MiB" } });
    expect(screen.getByText("Big cannot be shown: a frame has at most 64 MiB")).toBeDefined();
  });
});

describe("a table", () => {
  it("says how much of the data frame it shows", () => {
    renderWidgets({
      t: {
        type: "table",
        columns: ["a", "a"],
        dtypes: { a: "int64" },
        shape: [12_345, 2],
        rows: [
          [1, null],
          [2, "x"],
        ],
      },
    });
    expect(screen.getByText("the first 2 of 12,345 rows, 2 columns")).toBeDefined();
    expect(screen.getAllByRole("row").length).toBe(3);
  });
});
