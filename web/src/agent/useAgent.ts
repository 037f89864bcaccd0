import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { Config } from "../api/client";
import type { Live, Role } from "./live";
import { LiveSession } from "./liveSession";

export type { Connection, ConnectionState, Live, Notice, Phase, Role } from "./live";

/** The live session of that id, for as long as the component is there. */
export function useAgent(config: Config, session: string, role: Role): Live {
  const live = useMemo(() => new LiveSession(config, session, role), [config, session, role]);
  useEffect(() => {
    live.start();
    return () => live.stop();
  }, [live]);
  return useSyncExternalStore(live.subscribe, live.snapshot);
}
