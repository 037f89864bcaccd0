import { useEffect, useState } from "react";
import { attemptApiPath, getFileResponse, getJSON, sessionApiPath } from "../api/client";
import { sessionDetailSchema } from "../protocol/session.gen";
import { attemptPath } from "../routes/paths";

/** Matches the path of an attempt's trace below the folder of runs: run/attempts/attempt/trace.jsonl. */
const attemptTracePathPattern = /(?:^|\/)([^/]+)\/attempts\/([^/]+)\/trace\.jsonl$/;

/**
 * Returns the path of the page of the attempt that ended last in a session; null if none has ended
 * or it is not stored.
 */
export function useAttemptPage(session: string, ended: boolean): string | null {
  const [path, setPath] = useState<string | null>(null);
  useEffect(() => {
    if (!ended) return;
    const controller = new AbortController();
    setPath(null);
    findEndedAttemptPath(session, controller.signal)
      .then(setPath)
      .catch(() => undefined); // the link to all runs is shown instead
    return () => controller.abort();
  }, [session, ended]);
  return path;
}

async function findEndedAttemptPath(session: string, signal: AbortSignal): Promise<string | null> {
  const { trace = "" } = await getJSON(sessionApiPath(session), sessionDetailSchema, {}, signal);
  const [, run, attempt] = attemptTracePathPattern.exec(trace) ?? [];
  if (run === undefined || attempt === undefined) return null;
  await getFileResponse(attemptApiPath(run, attempt), { signal });
  return attemptPath(run, attempt);
}
