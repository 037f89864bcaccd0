import type { Entry } from "../../protocol/messages";
import { initialState, reduceEntries } from "../../store/reducer";
import type { Agent, State } from "../../store/state";
import { countItemsUpToSeq } from "./mark";

/** Query parameters that select the entries which change the agent's state. */
export const agentEntriesQuery = {
  hop: "agent>server,server>agent,console>server,session",
  type: "agent_status,agent_history_updated,agent_usage_update,agent_event,agent_error,agent_result,agent_query,agent_cancel,agent_clear_history,managed_process_exit",
};

/**
 * Query parameters that select the entries which change the agent's state, including stream frames,
 * for agents that send nothing else.
 */
export const streamEntriesQuery = {
  hop: agentEntriesQuery.hop,
  type: `${agentEntriesQuery.type},agent_stream_start,agent_stream_block_start,agent_stream_delta,agent_stream_block_stop,agent_stream_complete`,
};

/** Number of entries between two checkpoints. */
const entriesPerCheckpoint = 200;

/**
 * Computes the agent's state after any entry of a trace. Stores the state at regular checkpoints,
 * so that only the entries after a checkpoint must be applied.
 */
export class AgentCheckpoints {
  readonly #entries: Entry[] = [];
  /** The state after every 200 entries. */
  readonly #checkpoints: State[] = [initialState];

  /** Appends entries, which must be in order. Known ones are ignored. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (entry.seq <= (this.#entries.at(-1)?.seq ?? 0)) continue;
      this.#entries.push(entry);
      if (this.#entries.length % entriesPerCheckpoint === 0) this.#checkpoint();
    }
  }

  get length(): number {
    return this.#entries.length;
  }

  /** Returns the agent's state after entry seq of the trace. */
  at(seq: number): Agent {
    const end = countItemsUpToSeq(this.#entries, seq);
    const from = Math.floor(end / entriesPerCheckpoint);
    const base = this.#checkpoints[from] ?? initialState;
    return reduceEntries(base, this.#entries.slice(from * entriesPerCheckpoint, end)).agent;
  }

  #checkpoint(): void {
    const before = this.#checkpoints.at(-1) ?? initialState;
    this.#checkpoints.push(reduceEntries(before, this.#entries.slice(-entriesPerCheckpoint)));
  }
}

/** Reports whether the agent has sent any complete message, not only stream frames. */
export function hasAgentHistory(entries: readonly Entry[]): boolean {
  return entries.some((entry) => entry.msg?.type === "agent_history_updated");
}
