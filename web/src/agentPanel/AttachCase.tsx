import { useEffect, useState } from "react";
import type { Case } from "../protocol/api.gen";
import { oneLine } from "../text/displayText";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import styles from "./AttachCase.module.css";
import { attachCase, filterCases, listCases } from "./cases";

/** Number of cases that are listed at once. The filter finds the others. */
const maxListedCases = 100;

/** A dialog that lists the server's cases and starts an attempt at the chosen one in the session. */
export function AttachCase({ session, onClose }: { session: string; onClose: () => void }) {
  const { cases, error, setError } = useCaseList();
  const [filter, setFilter] = useState("");
  const [chosen, setChosen] = useState<Case | null>(null);
  const [busy, setBusy] = useState(false);
  const matches = filterCases(cases ?? [], filter);
  const attach = async () => {
    if (chosen === null) return;
    setBusy(true);
    setError("");
    try {
      await attachCase(session, chosen);
      onClose();
    } catch (problem) {
      setError(errorMessage(problem));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Attach a case" onClose={onClose}>
      <p className={styles.note}>Ends the session and starts an attempt at the case with an empty notebook.</p>
      <input
        type="search"
        className={styles.filter}
        aria-label="Filter cases"
        placeholder="Filter by id, tag or text"
        value={filter}
        onChange={(event) => setFilter(event.target.value)}
      />
      {cases === null && error === "" && <p className={styles.note}>Loading…</p>}
      {cases !== null && matches.length === 0 && <p className={styles.note}>No matching cases.</p>}
      <div className={styles.cases} role="radiogroup" aria-label="Cases">
        {matches.slice(0, maxListedCases).map((listed) => (
          <CaseChoice
            key={`${listed.path}#${listed.id}`}
            option={listed}
            chosen={listed === chosen}
            onChoose={setChosen}
          />
        ))}
      </div>
      {matches.length > maxListedCases && (
        <p className={styles.note}>{matches.length - maxListedCases} more. Use the filter to find them.</p>
      )}
      {error !== "" && (
        <p className={styles.error} role="alert">
          {error}
        </p>
      )}
      <div className={styles.actions}>
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="accent" disabled={chosen === null || busy} onClick={attach}>
          Attach
        </Button>
      </div>
    </Dialog>
  );
}

function useCaseList() {
  const [cases, setCases] = useState<readonly Case[] | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    const controller = new AbortController();
    listCases(controller.signal)
      .then(setCases)
      .catch((problem) => !controller.signal.aborted && setError(errorMessage(problem)));
    return () => controller.abort();
  }, []);
  return { cases, error, setError };
}

function errorMessage(problem: unknown): string {
  return problem instanceof Error ? problem.message : "The request failed.";
}

interface Props {
  option: Case;
  chosen: boolean;
  onChoose: (option: Case) => void;
}

const maxShownCaseTags = 6;

/** One case of the list, with a radio button. */
export function CaseChoice({ option, chosen, onChoose }: Props) {
  return (
    <label className={styles.choice}>
      <input type="radio" name="case" checked={chosen} onChange={() => onChoose(option)} />
      <span className={styles.about}>
        <span className={styles.id}>
          <strong>{oneLine(option.id, 80)}</strong>
          {option.tags.slice(0, maxShownCaseTags).map((tag) => (
            <Badge key={tag}>{oneLine(tag, 30)}</Badge>
          ))}
        </span>
        <span className={styles.task}>{oneLine(option.task, 200)}</span>
        <span className={styles.path}>{oneLine(option.path, 200)}</span>
      </span>
    </label>
  );
}
