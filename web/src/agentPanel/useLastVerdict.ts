import { useState } from "react";
import type { EvalResult } from "../protocol/messages";
import { useSelect } from "../store/store";
import { useAttemptPage } from "./useAttemptPage";

/** The verdict of a session's last attempt. */
export interface LastVerdict {
  result: EvalResult;
  /** Whether another session has begun since. */
  isPrevious: boolean;
  /** The path of the attempt's page; null if unknown. */
  attemptPage: string | null;
}

/** Returns the newest verdict of a session since the page was opened, also when the next attempt has begun; null: none. */
export function useLastVerdict(session: string): LastVerdict | null {
  const verdict = useSelect((state) => state.verdict);
  const [last, setLast] = useState(verdict);
  if (verdict !== null && verdict !== last) setLast(verdict);
  const attemptPage = useAttemptPage(session, verdict !== null);
  return last === null ? null : { result: last, isPrevious: verdict === null, attemptPage };
}
