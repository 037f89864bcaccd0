import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Commands, CommandsProvider, type KernelGlobals } from "../commands/commands";
import { NavigationProvider } from "../commands/navigation";
import { initialState } from "../store/reducer";
import type { Execution } from "../store/state";
import { createStore, StoreProvider } from "../store/store";
import "./layout"; // loaded before it is asked for, so that no test waits for it
import ReactiveGraph from "./ReactiveGraph";
import { Variables } from "./Variables";

let setIntersecting: (isIntersecting: boolean) => void = () => {};

/** An IntersectionObserver whose elements are on screen until setIntersecting is called with false. */
class FakeIntersectionObserver {
  constructor(report: (entries: { isIntersecting: boolean }[]) => void) {
    setIntersecting = (isIntersecting) => report([{ isIntersecting }]);
  }
  observe() {
    setIntersecting(true);
  }
  disconnect() {
    setIntersecting = () => {};
  }
}

interface PendingKernelRequest {
  answer: (summary: Partial<KernelGlobals>) => Promise<void>;
  fail: (text: string) => Promise<void>;
}

function renderWithFakeKernel(page: React.ReactNode, looking = false) {
  const store = createStore(initialState);
  const asked: PendingKernelRequest[] = [];
  const settled = async () => {
    await act(() => vi.advanceTimersByTimeAsync(0));
  };
  const ask = () =>
    new Promise<never>((resolve, reject) => {
      asked.push({
        answer: (summary) => {
          resolve(summary as never);
          return settled();
        },
        fail: (text) => {
          reject(new Error(text));
          return settled();
        },
      });
    });
  const commands = { canRun: true, globals: ask, reactivity: ask } as Partial<Commands> as Commands;
  const jumpTo = vi.fn();
  render(
    <StoreProvider value={store}>
      <NavigationProvider value={{ jumpTo, addCell: () => {}, onRequest: () => () => {} }}>
        <CommandsProvider value={looking ? null : commands}>{page}</CommandsProvider>
      </NavigationProvider>
    </StoreProvider>,
  );
  const run = (fields: Partial<Execution>, id = "c") =>
    act(() =>
      store.update((state) => {
        const idle: Execution = {
          status: "ran",
          pending: false,
          started: false,
          sequencer: 0,
          count: 0,
          outputs: [],
          widgets: {},
        };
        const run = { ...idle, ...state.notebook.executions[id], ...fields };
        return { ...state, notebook: { ...state.notebook, executions: { ...state.notebook.executions, [id]: run } } };
      }),
    );
  const kernel = (kernel: "running" | "dead") =>
    act(() => store.update((state) => ({ ...state, notebook: { ...state.notebook, kernel } })));
  const wait = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
  return { asked, run, kernel, wait, jumpTo };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("IntersectionObserver", FakeIntersectionObserver);
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const globalsSummary = {
  x: { type: "int", repr: "3" },
  df: { type: "DataFrame", columns: ["a"], dtypes: { a: "int64" }, shape: [2, 1] },
};

describe("Variables", () => {
  it("requests variables when it is on screen, and again after each run", async () => {
    const { asked, run, wait } = renderWithFakeKernel(<Variables />);
    await asked[0]?.answer({ summary: globalsSummary });
    expect(screen.getByText("2 variables")).toBeDefined();
    await wait(1000);
    run({ started: true, sequencer: 1, count: 1 });
    run({ outputs: [] });
    await wait(1000);
    expect(asked.length).toBe(1);
    run({ started: false });
    expect(asked.length).toBe(2);
  });

  it("has one request in flight, and combines those made meanwhile", async () => {
    const { asked, run, wait } = renderWithFakeKernel(<Variables />);
    for (let sequencer = 1; sequencer < 9; sequencer++) run({ sequencer });
    expect(asked.length).toBe(1);
    await asked[0]?.answer({ summary: {} });
    await wait(1000);
    expect(asked.length).toBe(2);
    await asked[1]?.answer({ summary: globalsSummary });
    await wait(1000);
    expect(asked.length).toBe(2);
    expect(screen.getByText("2 variables")).toBeDefined();
  });

  it("requests nothing while it is not on screen", async () => {
    const { asked, run, wait } = renderWithFakeKernel(<Variables />);
    await asked[0]?.answer({ summary: globalsSummary });
    act(() => setIntersecting(false));
    run({ sequencer: 1 });
    await wait(1000);
    expect(asked.length).toBe(1);
    act(() => setIntersecting(true));
    expect(asked.length).toBe(2);
  });

  it("keeps the last variables when a request fails, and can retry", async () => {
    const { asked, run, wait } = renderWithFakeKernel(<Variables />);
    await asked[0]?.answer({ summary: globalsSummary });
    await wait(1000);
    run({ sequencer: 1 });
    await asked[1]?.fail("the kernel did not answer within 8s");
    expect(screen.getByRole("alert").textContent).toContain("the kernel did not answer within 8s");
    expect(screen.getByText("x")).toBeDefined();
    await wait(1000);
    fireEvent.click(screen.getByText("Try again"));
    expect(asked.length).toBe(3);
    await asked[2]?.answer({ summary: globalsSummary });
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("shows the age of a busy kernel's response, and that variables are missing", async () => {
    const { asked } = renderWithFakeKernel(<Variables />);
    await asked[0]?.answer({ summary: globalsSummary, stale: true, age_ms: 12_345, truncated: true });
    expect(screen.getByText(/These values are 12\.3 s old/)).toBeDefined();
    expect(screen.getByText(/Not all variables are shown/)).toBeDefined();
  });

  it("shows that the kernel has ended, and requests variables from the next one", async () => {
    const { asked, kernel, wait } = renderWithFakeKernel(<Variables />);
    await asked[0]?.answer({ summary: globalsSummary });
    await wait(1000);
    kernel("dead");
    expect(screen.getByText(/The kernel has exited.*The last known ones are shown/)).toBeDefined();
    expect(asked.length).toBe(1);
    kernel("running");
    expect(asked.length).toBe(2);
  });

  it("requests nothing in a read-only notebook", () => {
    const { asked } = renderWithFakeKernel(<Variables />, true);
    expect(asked.length).toBe(0);
    expect(screen.getByText(/Read-only/)).toBeDefined();
  });

  it("filters, sorts and opens rows, and keeps them open", async () => {
    const { asked, run, wait } = renderWithFakeKernel(<Variables />);
    await asked[0]?.answer({ summary: globalsSummary });
    fireEvent.click(screen.getByRole("button", { name: "Name" }));
    expect(screen.getByRole("columnheader", { name: "Name" }).getAttribute("aria-sort")).toBe("descending");
    expect(screen.getAllByRole("rowheader").map((row) => row.textContent)).toEqual(["x", "df"]);
    fireEvent.click(screen.getByRole("button", { name: "df" }));
    expect(screen.getByText("int64")).toBeDefined();
    await wait(1000);
    run({ sequencer: 1 });
    await asked[1]?.answer({ summary: globalsSummary });
    expect(screen.getByText("int64")).toBeDefined();
    fireEvent.change(screen.getByLabelText("Filter variables"), { target: { value: "int" } });
    await wait(0);
    expect(screen.getByText("1 of 2 variables")).toBeDefined();
  });
});

describe("ReactiveGraph", () => {
  const cell_reactivity = {
    a: { signals_defined: ["a/least"], depends_on_signals: [], depends_on_cells: [] },
    b: { signals_defined: [], depends_on_signals: ["a/least"], depends_on_cells: ["a"] },
  };

  const drawn = (name: string) => vi.waitFor(() => screen.getByRole("button", { name }), { timeout: 4000 });

  it("links to the cells, and has a list of everything", async () => {
    const { asked, jumpTo } = renderWithFakeKernel(<ReactiveGraph />);
    await asked[0]?.answer({ cell_reactivity } as object);
    fireEvent.click(await drawn("signal least"));
    expect(jumpTo).toHaveBeenCalledWith("a");
    expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual([
      "cell a defines a/least",
      "cell b reads a/least; runs after cell a",
    ]);
  });

  it("marks cells that ran again for four seconds", async () => {
    const { asked, run, wait } = renderWithFakeKernel(<ReactiveGraph />);
    await asked[0]?.answer({ cell_reactivity } as object);
    await drawn("signal least");
    run({ sequencer: 1 }, "a");
    expect(screen.queryByText(/re-run/)).toBeNull();
    run({ sequencer: 2 }, "b");
    expect(screen.getByText("cell b re-run")).toBeDefined();
    await wait(5000);
    expect(screen.queryByText(/re-run/)).toBeNull();
  });

  it("fits the available width until the user zooms", async () => {
    const room = vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(0); // behind another tab
    let resized = () => {};
    const observer = (report: () => void) => {
      resized = report;
      return { observe: () => {}, disconnect: () => {} };
    };
    vi.stubGlobal(
      "ResizeObserver",
      vi.fn(function made(report: () => void) {
        return observer(report);
      }),
    );
    const { asked } = renderWithFakeKernel(<ReactiveGraph />);
    await asked[0]?.answer({ cell_reactivity } as object);
    const stage = (await drawn("signal least")).parentElement;
    const wide = Number.parseFloat(stage?.style.width ?? "");
    const scale = () => Number(/scale\((.*)\)/.exec(stage?.style.transform ?? "")?.[1]);
    expect(wide).toBeGreaterThan(100);
    const give = (width: number) => {
      room.mockReturnValue(width);
      act(() => resized());
    };
    give(wide / 2);
    expect(scale()).toBeCloseTo(0.5);
    give(wide * 3);
    expect(scale()).toBe(1);
    fireEvent.click(screen.getByRole("button", { name: "Zoom in" }));
    give(wide / 2);
    expect(scale()).toBeCloseTo(1.25);
    fireEvent.click(screen.getByRole("button", { name: "Fit" }));
    expect(scale()).toBeCloseTo(0.5);
  });

  it("says if the graph is empty or not available", async () => {
    const { asked } = renderWithFakeKernel(<ReactiveGraph />);
    await asked[0]?.answer({ cell_reactivity: 5 } as object);
    expect(screen.getByText(/No signals yet/)).toBeDefined();
  });
});
