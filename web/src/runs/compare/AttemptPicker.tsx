import { useState } from "react";
import { getJSON, runApiPath } from "../../api/client";
import { Problem } from "../../api/Problem";
import { useLoad } from "../../api/useLoad";
import { formatDateTime } from "../../format/format";
import { attemptPageSchema, runPageSchema } from "../../protocol/api.gen";
import type { AttemptName } from "../../routes/paths";
import { plainName } from "../../text/displayText";
import { type Attempt, attemptsOf } from "../data/attempt";
import { runOf } from "../data/run";
import styles from "./Compare.module.css";

interface Props {
  /** "A" or "B". */
  side: string;
  /** The selected attempt; null: none. */
  name: AttemptName | null;
  /** Offers only attempts at this case; "": at any. */
  caseId: string;
  onPick: (name: AttemptName) => void;
}

/** Selects a run and one of its attempts for a comparison. */
export function AttemptPicker({ side, name, caseId, onPick }: Props) {
  const [picked, setPicked] = useState<string | null>(null);
  const run = picked ?? name?.run ?? "";
  const runs = useLoad("runs", async (signal) =>
    (await getJSON("/api/runs", runPageSchema, { limit: 500 }, signal)).runs.map(runOf),
  );
  const attempts = useLoad(run === "" ? null : `${run} ${caseId}`, (signal) => readAttempts(run, caseId, signal));
  const error = runs.error ?? attempts.error;
  const shown = name?.run === run ? name.attempt : "";
  const elsewhere = shown !== "" && attempts.data !== null && !attempts.data.some((one) => one.name === shown);
  return (
    <div className={styles.picker}>
      <label>
        {`Run of ${side}`}
        <select value={run} onChange={(event) => setPicked(event.target.value)}>
          <option value="">Choose a run</option>
          {run !== "" && !runs.data?.some((one) => one.name === run) && <option value={run}>{plainName(run)}</option>}
          {runs.data?.map((one) => (
            <option key={one.name} value={one.name} disabled={one.problem !== ""}>
              {`${plainName(one.name)}, ${formatDateTime(one.started)}`}
            </option>
          ))}
        </select>
      </label>
      <label>
        {`Attempt of ${side}`}
        <select
          value={shown}
          disabled={run === ""}
          onChange={(event) => event.target.value !== "" && onPick({ run, attempt: event.target.value })}
        >
          <option value="">{attempts.data?.length === 0 ? "No attempts at this case" : "Choose an attempt"}</option>
          {elsewhere && <option value={shown}>{`${plainName(shown)} (other case)`}</option>}
          {attempts.data?.map((attempt) => (
            <option key={attempt.name} value={attempt.name}>
              {`${plainName(attempt.name)}, ${attempt.verdict}`}
            </option>
          ))}
        </select>
      </label>
      {error && <Problem what="The attempts could not be loaded" error={error} onRetry={attempts.reload} />}
    </div>
  );
}

/** Loads the attempts of a run that have ended. caseId limits them to one case; "" means all cases. */
async function readAttempts(run: string, caseId: string, signal: AbortSignal): Promise<readonly Attempt[]> {
  const query = { brief: true, limit: 10_000, case: caseId };
  const page = await getJSON(`${runApiPath(run)}/attempts`, attemptPageSchema, query, signal);
  return attemptsOf(page.attempts).filter(
    (attempt) => attempt.name !== "" && (caseId === "" || attempt.caseId === caseId),
  );
}
