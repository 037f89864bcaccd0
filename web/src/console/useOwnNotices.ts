import { useState } from "react";
import type { Live, Notice } from "../agent/live";

/** The session's notices and, behind them, those of the page itself, which have numbers below zero. */
export function useOwnNotices(live: Live) {
  const [own, setOwn] = useState<readonly Notice[]>([]);
  const add = (text: string) =>
    setOwn((before) => [...before, { id: (before.at(-1)?.id ?? 0) - 1, kind: "error", text }]);
  const dismiss = (id: number) => {
    if (id >= 0) live.dismiss(id);
    else setOwn((before) => before.filter((notice) => notice.id !== id));
  };
  return { notices: [...live.notices, ...own], add, dismiss };
}
