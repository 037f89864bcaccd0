import { useDeferredValue } from "react";
import { Problem } from "../api/Problem";
import { runsComparePath } from "../routes/paths";
import { Button } from "../ui/Button";
import type { Run } from "./data/run";
import { pathsOf, whoOf } from "./data/run";
import { useChosen } from "./data/useChosen";
import { useParameter } from "./data/useParameter";
import { useRuns } from "./data/useRuns";
import { RunsTable } from "./list/RunsTable";
import { Chosen } from "./parts/Chosen";
import { Page } from "./parts/Page";
import { Quiet } from "./parts/Quiet";
import styles from "./RunsPage.module.css";

/** All runs, newest first. */
export default function RunsPage() {
  return (
    <Page title="Runs">
      <Runs />
    </Page>
  );
}

function Runs() {
  const { runs, next, error, loading, more, reload } = useRuns();
  const [text, setText] = useParameter("text");
  const wanted = useDeferredValue(text);
  const [chosen, choose, clear] = useChosen();
  const shown = runs?.filter((run) => matches(run, wanted)) ?? [];
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
      {runs === null && error === null && <Quiet>Loading…</Quiet>}
      {runs?.length === 0 && next === null && <Empty />}
      <Chosen chosen={chosen} what="run" path={runsComparePath} onClear={clear} />
      {shown.length > 0 && <RunsTable runs={shown} chosen={chosen} onChoose={choose} />}
      {runs !== null && runs.length > 0 && (
        <div className={styles.more}>
          <span role="status">
            {wanted === "" ? counted(runs.length, next) : found(shown.length, runs.length, next)}
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

function counted(n: number, next: string | null): string {
  return next === null ? `${n} ${n === 1 ? "run" : "runs"}` : `The newest ${n} runs`;
}

function found(shown: number, of: number, next: string | null): string {
  return `${shown} of ${next === null ? `${of} runs` : `the newest ${of} runs`} match`;
}

/** Whether each word of text is somewhere in what is said of the run. */
function matches(run: Run, text: string): boolean {
  const said = [run.name, whoOf(run.config), ...pathsOf(run.config), run.problem].join(" ").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word));
}

function Empty() {
  return (
    <div className={styles.empty}>
      <p>There are no runs in this folder yet. A run is made on the command line, in the folder of the server:</p>
      <pre>assay run testcases/examples --agent oracle</pre>
      <p>It appears here while it goes on. A server that looks at another folder is started with --runs.</p>
    </div>
  );
}
