import { useEffect, useState } from "react";
import { attemptApiPath, getFile, getJSON, sessionPath } from "../api/client";
import { sessionDetailSchema } from "../protocol/api.gen";
import { attemptPath } from "../routes/paths";

/** Where the trace of an attempt stands below the folder of its run. */
const ofAttempt = /(?:^|\/)([^/]+)\/attempts\/([^/]+)\/trace\.jsonl$/;

/** The path of the page of the attempt that has just ended in the session; null: none has, or it is not among the runs. */
export function useAttemptPage(session: string, ended: boolean): string | null {
  const [path, setPath] = useState<string | null>(null);
  useEffect(() => {
    if (!ended) return;
    const gone = new AbortController();
    setPath(null);
    find(session, gone.signal)
      .then(setPath)
      .catch(() => undefined); // there is the list of all runs
    return () => gone.abort();
  }, [session, ended]);
  return path;
}

async function find(session: string, signal: AbortSignal): Promise<string | null> {
  const { trace = "" } = await getJSON(sessionPath(session), sessionDetailSchema, {}, signal);
  const [, run, attempt] = ofAttempt.exec(trace) ?? [];
  if (run === undefined || attempt === undefined) return null;
  await getFile(attemptApiPath(run, attempt), { signal });
  return attemptPath(run, attempt);
}
