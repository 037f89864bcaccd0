import { Verdict } from "../../agentPanel/Verdict";
import { Problem } from "../../api/Problem";
import type { LoadState } from "../../api/useLoad";
import { list, read } from "../../json/schema";
import type { AttemptLine } from "../../protocol/api.gen";
import { type EvalResult, graderResultSchema } from "../../protocol/messages";
import type { Beginning } from "../data/useBeginning";
import { Quiet } from "../parts/Quiet";
import { Enforced } from "./Enforced";
import { LimitsUsed } from "./LimitsUsed";
import styles from "./Overview.module.css";
import { Phases } from "./Phases";
import { Usage } from "./Usage";

/** An attempt at a glance: what was to be done, what came of it, what it took. */
export function Overview({ line, beginning }: { line: AttemptLine; beginning: LoadState<Beginning> }) {
  const { state: open = "", phases = {}, enforced = {} } = line;
  return (
    <div className={styles.overview}>
      <div className={styles.column}>
        <section aria-labelledby="task">
          <h2 id="task">Task</h2>
          <Task beginning={beginning} />
        </section>
        <div>
          <h2>Verdict</h2>
          {open === "" ? <Verdict result={resultOf(line)} /> : <Quiet>{openWords(open)}</Quiet>}
        </div>
      </div>
      {open === "" && (
        <div className={styles.column}>
          <Phases phases={phases} />
          <LimitsUsed line={line} />
          <Usage line={line} />
          <Enforced enforced={enforced} />
        </div>
      )}
    </div>
  );
}

/** Why there is no verdict. */
function openWords(state: string): string {
  return state === "running" ? "It has not ended yet." : "There is none: its run was interrupted.";
}

function Task({ beginning }: { beginning: LoadState<Beginning> }) {
  const { data, error, reload } = beginning;
  if (error) return <Problem what="The task could not be loaded" error={error} onRetry={reload} />;
  if (data === null) return <Quiet>Loading…</Quiet>;
  if (data.task === "") return <Quiet>The agent was not told anything.</Quiet>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <pre className={styles.task} tabIndex={0}>
      {data.task}
    </pre>
  );
}

function resultOf(line: AttemptLine): EvalResult {
  return {
    case_id: line.case_id ?? "",
    outcome: line.outcome ?? "",
    outcome_detail: line.outcome_detail ?? "",
    passed: line.passed ?? null,
    score: line.score ?? null,
    graders: read(list(graderResultSchema), line.graders),
    answer: line.answer,
    duration_ms: line.duration_ms ?? null,
  };
}
