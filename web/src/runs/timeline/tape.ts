import type { Entry } from "../../protocol/messages";
import { initial, reduceAll } from "../../store/reducer";
import type { Agent, State } from "../../store/state";
import { countUpTo } from "./mark";

/** The entries that the agent's part of the state is made of. */
export const tapeQuery = {
  hop: "agent>server,server>agent,console>server,session",
  type: "agent_status,agent_history_updated,agent_usage_update,agent_event,agent_error,agent_result,agent_query,agent_cancel,agent_clear_history,managed_process_exit",
};

/** The same for agents that send nothing but streams. */
export const streamQuery = {
  hop: tapeQuery.hop,
  type: `${tapeQuery.type},agent_stream_start,agent_stream_block_start,agent_stream_delta,agent_stream_block_stop,agent_stream_complete`,
};

const checkpointEvery = 200;

/** What the agent said and did, and how its part of the state was at any moment. */
export class Tape {
  readonly #entries: Entry[] = [];
  /** The state after every 200 entries. */
  readonly #checkpoints: State[] = [initial];

  /** Entries, which come in order; one that is there already is passed over. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (entry.seq <= (this.#entries.at(-1)?.seq ?? 0)) continue;
      this.#entries.push(entry);
      if (this.#entries.length % checkpointEvery === 0) this.#checkpoint();
    }
  }

  get length(): number {
    return this.#entries.length;
  }

  /** The agent's part after the entry seq of the trace. */
  at(seq: number): Agent {
    const end = countUpTo(this.#entries, seq);
    const from = Math.floor(end / checkpointEvery);
    const base = this.#checkpoints[from] ?? initial;
    return reduceAll(base, this.#entries.slice(from * checkpointEvery, end)).agent;
  }

  #checkpoint(): void {
    const before = this.#checkpoints.at(-1) ?? initial;
    this.#checkpoints.push(reduceAll(before, this.#entries.slice(-checkpointEvery)));
  }
}

/** Whether an agent has sent its messages whole. */
export function hasHistory(entries: readonly Entry[]): boolean {
  return entries.some((entry) => entry.msg?.type === "agent_history_updated");
}
