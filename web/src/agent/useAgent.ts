import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { Config } from "../api/config";
import { LiveSession } from "./liveSession";
import type { ConsoleRole, SessionSnapshot } from "./sessionSnapshot";

export type {
  Connection,
  ConnectionState,
  ConsoleRole,
  Notice,
  SessionPhase,
  SessionSnapshot,
} from "./sessionSnapshot";

/** Returns the live session with this id. It is connected while the component is mounted. */
export function useAgent(config: Config, session: string, role: ConsoleRole): SessionSnapshot {
  const live = useMemo(() => new LiveSession(config, session, role), [config, session, role]);
  useEffect(() => {
    live.start();
    return () => live.stop();
  }, [live]);
  return useSyncExternalStore(live.subscribe, live.snapshot);
}
