import { AgentDraft } from "./agentDraft";
import { CellsDraft } from "./cellsDraft";
import { RunsDraft } from "./runsDraft";
import type { Notebook, State } from "./state";

/**
 * A state that is being changed. What it shares with the state that it was begun
 * with is copied when it is first changed, once for all entries that are taken in
 * together; what is not changed stays the same object.
 */
export class Draft {
  seq: number;
  kernel: Notebook["kernel"];
  verdict: State["verdict"];
  readonly agent: AgentDraft;
  readonly cells: CellsDraft;
  readonly runs: RunsDraft;

  /** textLimit is how many bytes of the outputs of one cell are kept. */
  constructor(
    private readonly base: State,
    textLimit?: number,
  ) {
    this.seq = base.notebook.seq;
    this.kernel = base.notebook.kernel;
    this.agent = new AgentDraft(base.agent);
    this.verdict = base.verdict;
    this.cells = new CellsDraft(base.notebook);
    this.runs = new RunsDraft(base.notebook, textLimit);
  }

  /** The state that it has become. The draft must not be used any more. */
  finish(): State {
    const next = { seq: this.seq, kernel: this.kernel, ...this.cells.finish(), ...this.runs.finish() };
    const notebook = isSame(this.base.notebook, next) ? this.base.notebook : next;
    const state = { notebook, agent: this.agent.finish(), verdict: this.verdict };
    return isSame(this.base, state) ? this.base : state;
  }
}

function isSame<T extends object>(a: T, b: T): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof T>;
  return [...names].every((name) => a[name] === b[name]);
}
