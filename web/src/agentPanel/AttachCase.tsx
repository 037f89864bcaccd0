import { useEffect, useState } from "react";
import type { Case } from "../protocol/api.gen";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import styles from "./AttachCase.module.css";
import { CaseChoice } from "./CaseChoice";
import { attachCase, listCases, matching } from "./cases";

/** How many cases are offered at once: the filter finds the others. */
const shown = 100;

/** Lets one choose a case and attaches it to the session. */
export function AttachCase({ session, onClose }: { session: string; onClose: () => void }) {
  const { cases, error, setError } = useCases();
  const [filter, setFilter] = useState("");
  const [chosen, setChosen] = useState<Case | null>(null);
  const [busy, setBusy] = useState(false);
  const found = matching(cases ?? [], filter);
  const attach = async () => {
    if (chosen === null) return;
    setBusy(true);
    setError("");
    try {
      await attachCase(session, chosen);
      onClose();
    } catch (problem) {
      setError(messageOf(problem));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Attach a case" onClose={onClose}>
      <p className={styles.note}>The session ends, and an attempt at the case begins with an empty notebook.</p>
      <input
        type="search"
        className={styles.filter}
        aria-label="Filter the cases"
        placeholder="Filter by id, tag or text"
        value={filter}
        onChange={(event) => setFilter(event.target.value)}
      />
      {cases === null && error === "" && <p className={styles.note}>Loading…</p>}
      {cases !== null && found.length === 0 && <p className={styles.note}>No case is like that.</p>}
      <div className={styles.cases} role="radiogroup" aria-label="Cases">
        {found.slice(0, shown).map((listed) => (
          <CaseChoice
            key={`${listed.path}#${listed.id}`}
            listed={listed}
            chosen={listed === chosen}
            onChoose={setChosen}
          />
        ))}
      </div>
      {found.length > shown && <p className={styles.note}>{found.length - shown} more: filter to find them.</p>}
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

function useCases() {
  const [cases, setCases] = useState<readonly Case[] | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    const gone = new AbortController();
    listCases(gone.signal)
      .then(setCases)
      .catch((problem) => !gone.signal.aborted && setError(messageOf(problem)));
    return () => gone.abort();
  }, []);
  return { cases, error, setError };
}

function messageOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : "The server did not say what is wrong.";
}
