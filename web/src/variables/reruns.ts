import type { State } from "../store/state";
import { jsonText } from "../widgets/text";
import { ownerOf } from "../widgets/useWidgets";
import type { Graph } from "./graph";

/**
 * Follows which cells ran because of what they read: those whose run began after a
 * cell they depend on had run, or a widget they read had changed, since their run
 * before. Nobody asked for these executions, or need have.
 */
export class Reruns {
  #tick = 0;
  readonly #ran = new Map<string, number>(); // tick of the last run, by cell
  readonly #sequencers = new Map<string, number>();
  readonly #changed = new Map<string, number>(); // tick of the last change, by widget
  readonly #values = new Map<string, string>();

  /** Takes a state in, and returns the ids of the cells that have run again since the one before. */
  take(state: State, graph: Graph): string[] {
    this.#takeWidgets(state, graph);
    const begun = graph.cells.filter(({ id }) => this.#hasBegun(state, id));
    begun.sort((a, b) => sequencerOf(state, a.id) - sequencerOf(state, b.id));
    return begun.filter((cell) => this.#takeRun(cell)).map((cell) => cell.id);
  }

  #hasBegun(state: State, id: string): boolean {
    const now = sequencerOf(state, id);
    const before = this.#sequencers.get(id);
    this.#sequencers.set(id, now);
    return before !== undefined && now !== before && now !== 0;
  }

  #takeRun({ id, reads, after }: Graph["cells"][number]): boolean {
    const before = this.#ran.get(id) ?? 0;
    const later = (tick: number | undefined) => (tick ?? 0) > before;
    const because =
      after.some((other) => later(this.#ran.get(other))) || reads.some((name) => later(this.#changed.get(name)));
    this.#ran.set(id, ++this.#tick);
    return because;
  }

  #takeWidgets(state: State, { signals }: Graph): void {
    for (const { name } of signals) {
      const owner = ownerOf(state, name);
      const widget = owner === null ? undefined : state.notebook.executions[owner]?.widgets[name];
      if (widget === undefined) continue;
      const value = jsonText(widget.value);
      const before = this.#values.get(name);
      this.#values.set(name, value);
      if (before !== undefined && before !== value) this.#changed.set(name, ++this.#tick);
    }
  }
}

function sequencerOf({ notebook: { executions } }: State, id: string): number {
  return executions[id]?.sequencer ?? 0;
}
