import { getJSON, type QueryParameters } from "../../api/client";
import { type FlowPage, type FlowRequest, flowPageSchema, type ModelCall } from "../../protocol/api.gen";
import type { ConversationItem } from "../../store/state";

/** A call of an agent's model, and how long it took. */
export interface TimedCall extends ModelCall {
  /** Number of its entry in the trace. */
  seq: number;
  /** Milliseconds from the call to the end of its reply; null: it has not ended. */
  totalMs: number | null;
  /** Milliseconds of these in which it waited until other calls had ended. */
  waitMs: number;
}

const callsPerPage = 5000;

/**
 * Loads the calls of an attempt's models, in order, without what was asked and replied. base is the
 * attempt's path in the API. Rejects if a request fails.
 */
export async function loadModelCalls(base: string, signal: AbortSignal): Promise<readonly TimedCall[]> {
  const calls = new Map<number, TimedCall>();
  let from: number | null = 1;
  while (from !== null) {
    const query: QueryParameters = { hop: "agent>model", from, limit: callsPerPage };
    const page: FlowPage = await getJSON(`${base}/flow`, flowPageSchema, query, signal);
    for (const [first, request] of Object.entries(page.requests)) {
      if (request.model_call !== undefined)
        calls.set(Number(first), timedCallOf(Number(first), request.model_call, request));
    }
    from = page.next !== null && page.next > from ? page.next : null;
  }
  return [...calls.values()].sort((a, b) => a.seq - b.seq);
}

function timedCallOf(seq: number, call: ModelCall, { total_ms: totalMs, hops }: FlowRequest): TimedCall {
  return { ...call, seq, totalMs, waitMs: hops.find(({ hop }) => hop === "wait")?.ms ?? 0 };
}

/** What some calls have used together. */
export interface CallTotals {
  /** Tokens of the prompts, those of the cache included. */
  input: number;
  cached: number;
  output: number;
  /** Calls that were answered, at least in part: only these have used tokens. */
  answered: number;
  /** null: the price of one of these is not known. */
  costUsd: number | null;
}

export const noCallTotals: CallTotals = { input: 0, cached: 0, output: 0, answered: 0, costUsd: 0 };

/** Returns the totals with those of some more calls. */
export function withCalls(before: CallTotals, calls: readonly TimedCall[]): CallTotals {
  return calls.reduce((sum, { usage, cost_usd: cost }) => {
    if (usage === undefined) return sum;
    return {
      input: sum.input + usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
      cached: sum.cached + usage.cache_read_input_tokens,
      output: sum.output + usage.output_tokens,
      answered: sum.answered + 1,
      costUsd: sum.costUsd === null || cost === null ? null : sum.costUsd + cost,
    };
  }, before);
}

/** The calls that led to a message of the agent, and what all calls up to it have used. */
export interface Turn {
  calls: readonly TimedCall[];
  soFar: CallTotals;
}

/**
 * Assigns calls to the agent's messages. callOfSeq has the number of the call whose reply a message
 * is, by the message's seq; without it, messages and calls are entries of one trace, and a message
 * has the calls that began since the one before. A call that has no message, such as one
 * that was refused, belongs to the next one. Returns the turns by the index of the message's last
 * item. Calls after the last message are in none.
 */
export function turnsOf(
  items: readonly ConversationItem[],
  calls: readonly TimedCall[],
  callOfSeq?: ReadonlyMap<number, number>,
): ReadonlyMap<number, Turn> {
  const own = new Set(callOfSeq?.values());
  const positionOf = (call: TimedCall) => (callOfSeq === undefined ? call.seq : call.call);
  let waiting = calls.filter((call) => callOfSeq === undefined || !own.has(call.call));
  let soFar = noCallTotals;
  const turns = new Map<number, Turn>();
  for (const { index, seq } of agentMessageEnds(items)) {
    const number = callOfSeq?.get(seq);
    const end = callOfSeq === undefined ? seq : (number ?? 0);
    const mine = [
      ...waiting.filter((call) => positionOf(call) < end),
      ...calls.filter((call) => number !== undefined && call.call === number),
    ];
    if (mine.length === 0) continue;
    waiting = waiting.filter((call) => !mine.includes(call));
    soFar = withCalls(soFar, mine);
    turns.set(index, { calls: mine, soFar });
  }
  return turns;
}

/** Returns the index of the last item of each of the agent's messages, and the message's seq. */
function agentMessageEnds(items: readonly ConversationItem[]): readonly { index: number; seq: number }[] {
  return items.flatMap((item, index) => {
    const isLast = items[index + 1]?.seq !== item.seq || !isOfAgent(items[index + 1]);
    return isOfAgent(item) && item.seq > 0 && isLast ? [{ index, seq: item.seq }] : [];
  });
}

function isOfAgent(item: ConversationItem | undefined): boolean {
  if (item?.kind === "text") return item.role === "assistant";
  return item?.kind === "thinking" || (item?.kind === "tool" && item.name !== "");
}
