import type { State } from "../store/state";
import { cellIdOfWidget } from "../widgets/useWidgets";
import { jsonText } from "../widgets/valueText";
import type { Graph } from "./graph";

/**
 * Detects cells that ran again because of their dependencies: since their previous run, a cell they
 * depend on has run or a widget they read has changed.
 */
export class RerunDetector {
  #tick = 0;
  readonly #ran = new Map<string, number>(); // tick of the last run, by cell id
  readonly #sequencers = new Map<string, number>();
  readonly #changed = new Map<string, number>(); // tick of the last change, by widget key
  readonly #values = new Map<string, string>();

  /** Compares a new state with the last one and returns the ids of the cells that ran again. */
  update(state: State, graph: Graph): string[] {
    this.#takeWidgets(state, graph);
    const begun = graph.cells.filter(({ id }) => this.#hasBegun(state, id));
    begun.sort((a, b) => lastRunSequencerOf(state, a.id) - lastRunSequencerOf(state, b.id));
    return begun.filter((cell) => this.#takeRun(cell)).map((cell) => cell.id);
  }

  #hasBegun(state: State, id: string): boolean {
    const now = lastRunSequencerOf(state, id);
    const before = this.#sequencers.get(id);
    this.#sequencers.set(id, now);
    return before !== undefined && now !== before && now !== 0;
  }

  #takeRun({ id, reads, runsAfter }: Graph["cells"][number]): boolean {
    const before = this.#ran.get(id) ?? 0;
    const later = (tick: number | undefined) => (tick ?? 0) > before;
    const because =
      runsAfter.some((other) => later(this.#ran.get(other))) || reads.some((name) => later(this.#changed.get(name)));
    this.#ran.set(id, ++this.#tick);
    return because;
  }

  #takeWidgets(state: State, { signals }: Graph): void {
    for (const { name } of signals) {
      const owner = cellIdOfWidget(state, name);
      const widget = owner === null ? undefined : state.notebook.executions[owner]?.widgets[name];
      if (widget === undefined) continue;
      const value = jsonText(widget.value);
      const before = this.#values.get(name);
      this.#values.set(name, value);
      if (before !== undefined && before !== value) this.#changed.set(name, ++this.#tick);
    }
  }
}

function lastRunSequencerOf({ notebook: { executions } }: State, id: string): number {
  return executions[id]?.sequencer ?? 0;
}
