import { useDeferredValue } from "react";
import { Problem } from "../api/Problem";
import { runsComparePath } from "../routes/paths";
import { Button } from "../ui/Button";
import type { Run } from "./data/run";
import { agentText, casePaths } from "./data/run";
import { useParameter } from "./data/useParameter";
import { useRuns } from "./data/useRuns";
import { useSelectedPair } from "./data/useSelectedPair";
import { RunsTable } from "./list/RunsTable";
import { CompareLink } from "./parts/CompareLink";
import { MutedText } from "./parts/MutedText";
import { RunsPageFrame } from "./parts/RunsPageFrame";
import styles from "./RunsPage.module.css";

/** The list of all runs, newest first. */
export default function RunsPage() {
  return (
    <RunsPageFrame title="Runs">
      <FilteredRuns />
    </RunsPageFrame>
  );
}

function FilteredRuns() {
  const { runs, next, error, loading, more, reload } = useRuns();
  const [text, setText] = useParameter("text");
  const wanted = useDeferredValue(text);
  const [chosen, choose, clear] = useSelectedPair();
  const shown = runs?.filter((run) => doesRunMatch(run, wanted)) ?? [];
  return (
    <>
      <div className={styles.head}>
        <h1>Runs</h1>
        <input
          type="search"
          className={styles.filter}
          aria-label="Filter runs by name, agent, model or path"
          placeholder="Filter by name, agent, model, path"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      {error && <Problem what="The runs could not be loaded" error={error} onRetry={reload} />}
      {runs === null && error === null && <MutedText>Loading…</MutedText>}
      {runs?.length === 0 && next === null && <NoRunsHint />}
      <CompareLink chosen={chosen} what="run" path={runsComparePath} onClear={clear} />
      {shown.length > 0 && <RunsTable runs={shown} chosen={chosen} onChoose={choose} />}
      {runs !== null && runs.length > 0 && (
        <div className={styles.more}>
          <span role="status">
            {wanted === "" ? runCountText(runs.length, next) : matchCountText(shown.length, runs.length, next)}
          </span>
          {next !== null && (
            <Button onClick={more} disabled={loading}>
              Load more
            </Button>
          )}
        </div>
      )}
    </>
  );
}

function runCountText(n: number, next: string | null): string {
  return next === null ? `${n} ${n === 1 ? "run" : "runs"}` : `The newest ${n} runs`;
}

function matchCountText(shown: number, of: number, next: string | null): string {
  return `${shown} of ${next === null ? `${of} runs` : `the newest ${of} runs`} match`;
}

/**
 * Reports whether each word of text occurs in the run's name, agent, model, paths or problem,
 * ignoring case.
 */
function doesRunMatch(run: Run, text: string): boolean {
  const said = [run.name, agentText(run.config), ...casePaths(run.config), run.problem].join(" ").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word));
}

function NoRunsHint() {
  return (
    <div className={styles.empty}>
      <p>No runs in this folder yet. Start one on the command line, in the server's folder:</p>
      <pre>assay run testcases/examples --agent oracle</pre>
      <p>It appears here when it starts. To show another folder, start the server with --runs.</p>
    </div>
  );
}
