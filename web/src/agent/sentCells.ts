import { copyOfRecord } from "../json/values";
import type { Execution, State } from "../store/state";
import type { Store } from "../store/store";

/**
 * Cells that this page has sent to the kernel and about which it has received nothing yet. They are
 * shown as waiting.
 */
export class SentCells {
  /** By cell id: the execution before the cell was sent. */
  private readonly sent = new Map<string, Execution | undefined>();

  constructor(private readonly store: Store) {}

  add(id: string): void {
    this.sent.set(id, this.store.get().notebook.executions[id]);
  }

  /** Forgets the cells that something was received about. */
  private forgetConfirmed({ notebook }: State): void {
    for (const [id, before] of this.sent) {
      const execution = notebook.executions[id];
      const isConfirmed =
        execution === undefined || !execution.pending || execution.started || notebook.queue.includes(id);
      if (isConfirmed || (execution.sequencer !== before?.sequencer && execution.sequencer > 0)) this.sent.delete(id);
    }
  }

  /**
   * Called when the server could not do something: the sent cells are not shown as waiting any
   * more. The server reports those that do run again.
   */
  withdraw(): void {
    this.forgetConfirmed(this.store.get());
    this.store.update((state) => {
      const executions = copyOfRecord(state.notebook.executions);
      for (const [id, before] of this.sent) {
        const execution = executions[id];
        if (execution !== undefined)
          executions[id] = { ...execution, pending: false, status: before?.status ?? "idle" };
      }
      return this.sent.size === 0 ? state : { ...state, notebook: { ...state.notebook, executions } };
    });
    this.sent.clear();
  }

  /**
   * Called when the connection is lost. Returns a function to call when the state is known again:
   * it returns the cells that did not run.
   */
  handleDisconnect(): () => string[] {
    this.forgetConfirmed(this.store.get());
    const sentBefore = [...this.sent];
    this.sent.clear();
    return () => {
      const { executions } = this.store.get().notebook;
      return sentBefore.filter(([id, before]) => isUnchangedSinceSent(executions[id], before)).map(([id]) => id);
    };
  }
}

function isUnchangedSinceSent(execution: Execution | undefined, before: Execution | undefined): boolean {
  if (execution === undefined) return true;
  return execution.status !== "running" && execution.sequencer === (before?.sequencer ?? 0);
}
