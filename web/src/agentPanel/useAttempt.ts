import { useEffect, useState } from "react";
import { getJSON, sessionPath } from "../api/client";
import { sessionDetailSchema } from "../protocol/api.gen";
import { useSelect } from "../store/store";
import { type Attempt, attemptOf } from "./attempt";

/**
 * The attempt that goes on in the session; null: none does, or it is not known. It
 * is asked for when what comes of the agent tells that it may be another.
 */
export function useAttempt(session: string, connected: boolean): Attempt | null {
  const [attempt, setAttempt] = useState<Attempt | null>(null);
  const verdict = useSelect((state) => state.verdict);
  const request = useSelect((state) => state.agent.request);
  const status = useSelect((state) => state.agent.status);
  const said = useSelect((state) => state.agent.conversation.length > 0);
  const awaited = attempt?.started === null ? status : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: each of them may mean another attempt
  useEffect(() => {
    if (!connected) return;
    const gone = new AbortController();
    getJSON(sessionPath(session), sessionDetailSchema, {}, gone.signal)
      .then((answer) => setAttempt(attemptOf(answer)))
      .catch(() => undefined); // the connection tells when the server is away
    return () => gone.abort();
  }, [session, connected, verdict, request, said, awaited]);
  return connected && verdict === null ? attempt : null;
}
