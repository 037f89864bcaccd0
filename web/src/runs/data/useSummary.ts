import { useEffect, useState } from "react";
import { getJSON } from "../../api/client";
import { type Fields, fieldsOf, listOf } from "./json";
import { runBase } from "./paths";
import type { Run } from "./run";

const atOnce = 4;
const waiting: (() => void)[] = [];
let asked = 0;

/** The summary that a run has written as its last line; null: it has none, or it is not here yet. */
export function useSummary(run: Run): Fields | null {
  const [summary, setSummary] = useState<Fields | null>(null);
  const { name, finished, counts } = run;
  const before = counts.passed + counts.failed + counts.ungraded + counts.infrastructure + counts.skipped;
  useEffect(() => {
    if (!finished) return;
    const gone = new AbortController();
    inTurn(gone.signal, () => getJSON(`${runBase(name)}/attempts`, { after: before, limit: 1 }, gone.signal))
      .then((answer) => setSummary(summaryOf(listOf(fieldsOf(answer).attempts))))
      .catch(() => setSummary(null));
    return () => gone.abort();
  }, [name, finished, before]);
  return summary;
}

/** The summary among lines, or null. */
export function summaryOf(lines: readonly unknown[]): Fields | null {
  return lines.map(fieldsOf).findLast((line) => line.type === "summary") ?? null;
}

/** Asks when fewer than four others do, so that a long list leaves room for what a person asks for. */
async function inTurn<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  if (asked >= atOnce) await new Promise<void>((go) => waiting.push(go));
  asked++;
  try {
    signal.throwIfAborted();
    return await ask();
  } finally {
    asked--;
    waiting.shift()?.();
  }
}
