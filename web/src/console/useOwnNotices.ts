import { useState } from "react";
import type { Notice, SessionSnapshot } from "../agent/sessionSnapshot";

/** The session's notices and, behind them, those of the page itself, which have numbers below zero. */
export function useOwnNotices(live: SessionSnapshot) {
  const [own, setOwn] = useState<readonly Notice[]>([]);
  const add = (text: string) =>
    setOwn((before) => [...before, { id: (before.at(-1)?.id ?? 0) - 1, kind: "error", text }]);
  const dismiss = (id: number) => {
    if (id >= 0) live.dismiss(id);
    else setOwn((before) => before.filter((notice) => notice.id !== id));
  };
  return { notices: [...live.notices, ...own], add, dismiss };
}
