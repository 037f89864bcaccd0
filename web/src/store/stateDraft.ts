import { AgentDraft } from "./agentDraft";
import { CellsDraft } from "./cellsDraft";
import { ExecutionsDraft } from "./executionsDraft";
import type { Notebook, State } from "./state";

/**
 * A state while it is changed. Parts are copied when they are first changed, once for all
 * entries that are applied together; what does not change stays the same object.
 */
export class StateDraft {
  seq: number;
  kernel: Notebook["kernel"];
  verdict: State["verdict"];
  readonly agent: AgentDraft;
  readonly cells: CellsDraft;
  readonly executions: ExecutionsDraft;

  /** outputLimit is how many bytes of outputs are kept of one cell. */
  constructor(
    private readonly base: State,
    outputLimit?: number,
  ) {
    this.seq = base.notebook.seq;
    this.kernel = base.notebook.kernel;
    this.agent = new AgentDraft(base.agent);
    this.verdict = base.verdict;
    this.cells = new CellsDraft(base.notebook);
    this.executions = new ExecutionsDraft(base.notebook, outputLimit);
  }

  /** Returns the new state. The draft must not be used any more. */
  finish(): State {
    const next = { seq: this.seq, kernel: this.kernel, ...this.cells.finish(), ...this.executions.finish() };
    const notebook = hasSameFields(this.base.notebook, next) ? this.base.notebook : next;
    const state = { notebook, agent: this.agent.finish(), verdict: this.verdict };
    return hasSameFields(this.base, state) ? this.base : state;
  }
}

function hasSameFields<T extends object>(a: T, b: T): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof T>;
  return [...names].every((name) => a[name] === b[name]);
}
