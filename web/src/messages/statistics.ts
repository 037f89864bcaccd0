import type { FlowRequest } from "./entry";
import type { Filters } from "./filters";
import { scanPages } from "./scanRows";

/**
 * Statistics of the requests of one kind and action. Times are in milliseconds; null if no request
 * has ended.
 */
export interface RequestStatistics {
  kind: string;
  action: string;
  count: number;
  p50: number | null;
  p99: number | null;
  max: number | null;
  timedOut: number;
  failed: number;
  unanswered: number;
}

/**
 * Reads the whole trace and computes statistics of its requests. onProgress receives the share that
 * has been read, from 0 to 1. Rejects if a request fails.
 */
export async function computeTraceStatistics(
  base: string,
  filters: Filters,
  onProgress: (done: number) => void,
  signal: AbortSignal,
): Promise<readonly RequestStatistics[]> {
  const requests = new Map<number, FlowRequest>();
  for await (const { page, row } of scanPages(base, filters, 0, 1, signal)) {
    for (const [first, request] of page.requests) requests.set(first, request);
    onProgress(Math.min(1, (row + page.entries.length) / Math.max(1, page.count ?? page.end)));
  }
  return statisticsByAction([...requests.values()]);
}

export function statisticsByAction(requests: readonly FlowRequest[]): readonly RequestStatistics[] {
  const groups = new Map<string, FlowRequest[]>();
  for (const request of requests) {
    const name = JSON.stringify([request.kind, request.action]);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [request]);
    else group.push(request);
  }
  return [...groups.values()].flatMap((group) => statisticsOfGroup(group) ?? []).sort(compareByKindAndAction);
}

function statisticsOfGroup(group: readonly FlowRequest[]): RequestStatistics | null {
  const [one] = group;
  if (one === undefined) return null;
  const times = group.flatMap(({ totalMs }) => totalMs ?? []).sort((a, b) => a - b);
  const having = (state: string) => group.filter((request) => request.state === state).length;
  return {
    kind: one.kind,
    action: one.action,
    count: group.length,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    max: times.at(-1) ?? null,
    timedOut: having("timed_out"),
    failed: having("failed"),
    unanswered: having("unanswered"),
  };
}

/**
 * Returns the smallest of the sorted times that at least this share of all times does not exceed
 * (nearest rank).
 */
function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

function compareByKindAndAction(a: RequestStatistics, b: RequestStatistics): number {
  return a.kind.localeCompare(b.kind) || a.action.localeCompare(b.action);
}
