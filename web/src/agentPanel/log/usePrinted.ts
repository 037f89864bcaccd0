import { useEffect, useState } from "react";
import { followPrinted } from "./followPrinted";
import { nothing, type Printed, withMore } from "./printed";

/** What agent and kernel of a session have printed, while that is wanted. */
export function usePrinted(session: string): { printed: Printed; connected: boolean } {
  const [printed, setPrinted] = useState(nothing);
  const [connected, setConnected] = useState(false);
  useEffect(
    () =>
      followPrinted(session, {
        onKept: setPrinted,
        onMore: (more) => setPrinted((before) => withMore(before, more)),
        onConnected: setConnected,
      }),
    [session],
  );
  return { printed, connected };
}
