import { useState } from "react";
import type { Notice, SessionSnapshot } from "../agent/sessionSnapshot";

/** Returns the notices of the session followed by those of this page, and functions to add and dismiss. Ids of this page's notices are negative. */
export function usePageNotices(live: SessionSnapshot) {
  const [own, setOwn] = useState<readonly Notice[]>([]);
  const add = (text: string) =>
    setOwn((before) => [...before, { id: (before.at(-1)?.id ?? 0) - 1, kind: "error", text }]);
  const dismiss = (id: number) => {
    if (id >= 0) live.dismiss(id);
    else setOwn((before) => before.filter((notice) => notice.id !== id));
  };
  return { notices: [...live.notices, ...own], add, dismiss };
}
