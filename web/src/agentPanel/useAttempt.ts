import { useEffect, useState } from "react";
import { getJSON, sessionApiPath } from "../api/client";
import { sessionDetailSchema } from "../protocol/session.gen";
import { useSelect } from "../store/store";
import { type CurrentAttempt, currentAttemptOf } from "./attempt";

/**
 * Returns the attempt in progress in a session; null if there is none or it is unknown. Loads it
 * again when the agent's state indicates that it may have changed.
 */
export function useAttempt(session: string, connected: boolean): CurrentAttempt | null {
  const [attempt, setAttempt] = useState<CurrentAttempt | null>(null);
  const verdict = useSelect((state) => state.verdict);
  const request = useSelect((state) => state.agent.request);
  const status = useSelect((state) => state.agent.status);
  const hasItems = useSelect((state) => state.agent.conversation.length > 0);
  const statusBeforeStart = attempt?.started === null ? status : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: each of them may indicate another attempt
  useEffect(() => {
    if (!connected) return;
    const controller = new AbortController();
    getJSON(sessionApiPath(session), sessionDetailSchema, {}, controller.signal)
      .then((answer) => setAttempt(currentAttemptOf(answer)))
      .catch(() => undefined); // connection errors are reported elsewhere
    return () => controller.abort();
  }, [session, connected, verdict, request, hasItems, statusBeforeStart]);
  return connected && verdict === null ? attempt : null;
}
