import { describe, expect, it } from "vitest";
import { initialState } from "../store/reducer";
import type { Execution, State } from "../store/state";
import { graphOf, withoutUnreadSignals } from "./graph";
import { computeLayout } from "./layout";
import { RerunDetector } from "./rerunDetector";

const cellReactivityFields = (makes: string[], reads: string[], after: string[]) => ({
  signals_defined: makes,
  depends_on_signals: reads,
  depends_on_cells: after,
});

const sampleReactivity = {
  a: cellReactivityFields(["a/least", "a/unread"], [], []),
  b: cellReactivityFields([], ["a/least"], ["a"]),
  c: cellReactivityFields([], ["large"], ["b", "d"]),
  d: cellReactivityFields(["large"], [], []),
};

describe("graphOf", () => {
  const graph = graphOf(sampleReactivity);

  it("has edges from defining cells over signals to readers, and from other writing cells", () => {
    expect(graph.edges.map(({ from, to, kind }) => `${from} ${kind} ${to}`)).toEqual([
      "cell a makes signal a/least",
      "cell a makes signal a/unread",
      "signal a/least reads cell b",
      "signal large reads cell c",
      "cell b writes cell c",
      "cell d makes signal large",
    ]);
  });

  it("withoutUnreadSignals leaves out signals that no cell reads", () => {
    const drawn = withoutUnreadSignals(graphOf({ ...sampleReactivity, e: cellReactivityFields(["e/lonely"], [], []) }));
    expect(drawn.signals.map(({ name }) => name)).toEqual(["a/least", "large"]);
    expect(drawn.cells.map(({ id }) => id)).toEqual(["a", "b", "c", "d"]);
  });

  it("has cells that are only dependencies, and accepts malformed summaries", () => {
    expect(graphOf({ b: cellReactivityFields([], [], ["gone"]) }).cells.map(({ id }) => id)).toEqual(["b", "gone"]);
    expect(graphOf({ x: null, y: { depends_on_cells: [1, "x", null, "x"], signals_defined: "s" } }).edges).toEqual([
      { from: "cell x", to: "cell y", kind: "writes" },
    ]);
    expect([graphOf(null), graphOf([1]), graphOf("x")].map(({ cells }) => cells.length)).toEqual([0, 0, 0]);
  });

  it("is laid out with defining cells above readers, even with cycles and unusual names", () => {
    const { boxes, lines, width } = computeLayout(graph);
    const top = (id: string) => boxes.get(id)?.top ?? Number.NaN;
    expect(top("cell a")).toBeLessThan(top("signal a/least"));
    expect(top("signal a/least")).toBeLessThan(top("cell b"));
    expect(lines.every(({ path }) => /^M[\d.,\s QL-]+$/.test(path))).toBe(true);
    expect(width).toBeGreaterThan(100);
    const circle = computeLayout(
      graphOf({
        __proto__x: cellReactivityFields(["s"], ["s", "t"], []),
        "": cellReactivityFields(["t"], ["s"], ["constructor"]),
      }),
    );
    expect(circle.boxes.size).toBe(5);
  });

  it("has straight lines from a cell that defines very many signals", () => {
    const names = Array.from({ length: 20 }, (_, n) => `s${n}`);
    const { lines } = computeLayout(
      graphOf({ a: cellReactivityFields(names, [], []), b: cellReactivityFields([], ["s3"], ["a"]) }),
    );
    const made = lines.filter(({ kind }) => kind === "makes");
    expect(made.length).toBe(20);
    expect(made.every(({ path }) => /^M[-\d.]+,[-\d.]+ L[-\d.]+,[-\d.]+$/.test(path))).toBe(true);
  });

  it("is empty for an empty summary", () => {
    expect(computeLayout(graphOf({})).boxes.size).toBe(0);
  });
});

describe("RerunDetector", () => {
  const graph = graphOf(sampleReactivity);

  function state(sequencers: Record<string, number>, least = 0): State {
    const runs = Object.entries(sequencers).map(([id, sequencer]) => {
      const widgets = id === "a" ? { "a/least": { type: "slider", value: least } } : {};
      const run: Execution = {
        status: "ran",
        pending: false,
        started: false,
        sequencer,
        count: sequencer,
        outputs: [],
        widgets,
      };
      return [id, run];
    });
    return { ...initialState, notebook: { ...initialState.notebook, executions: Object.fromEntries(runs) } };
  }

  function taken(...states: State[]): string[] {
    const reruns = new RerunDetector();
    return states.map((some) => reruns.update(some, graph)).at(-1) ?? [];
  }

  it("detects cells that ran after a cell whose signals they read", () => {
    expect(taken(state({ a: 1, b: 2, c: 3, d: 0 }), state({ a: 4, b: 5, c: 6, d: 0 }))).toEqual(["b", "c"]);
  });

  it("detects the readers of a changed widget", () => {
    expect(
      taken(state({ a: 1, b: 2, c: 3 }), state({ a: 1, b: 2, c: 3 }, 20), state({ a: 1, b: 4, c: 3 }, 20)),
    ).toEqual(["b"]);
  });

  it("ignores runs by the user and runs before the first update", () => {
    expect(taken(state({ a: 1, b: 2 }))).toEqual([]);
    expect(taken(state({ a: 1, b: 2 }), state({ a: 1, b: 3 }))).toEqual([]);
  });

  it("ignores runs of a new kernel", () => {
    expect(taken(state({ a: 5, b: 6 }), state({ a: 0, b: 0 }), state({ a: 1, b: 0 }))).toEqual([]);
  });
});
