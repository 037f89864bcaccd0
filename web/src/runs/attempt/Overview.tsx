import { Verdict } from "../../agentPanel/Verdict";
import { Problem } from "../../api/Problem";
import type { LoadState } from "../../api/useLoad";
import { list, read } from "../../json/schema";
import type { AttemptLine } from "../../protocol/api.gen";
import { type EvalResult, graderResultSchema } from "../../protocol/messages";
import type { TaskAndLanguage } from "../data/useTaskAndLanguage";
import { MutedText } from "../parts/MutedText";
import { LimitsUsed } from "./LimitsUsed";
import styles from "./Overview.module.css";
import { Phases } from "./Phases";
import { SandboxRules } from "./SandboxRules";
import { Usage } from "./Usage";
import { WaitingTimes } from "./WaitingTimes";

interface Props {
  /** Path of the attempt in the API. */
  base: string;
  line: AttemptLine;
  beginning: LoadState<TaskAndLanguage>;
}

/** An attempt at a glance: task, verdict, times, limits and usage. */
export function Overview({ base, line, beginning }: Props) {
  const { state: open = "", phases = {}, enforced = {} } = line;
  return (
    <div className={styles.overview}>
      <div className={styles.column}>
        <section aria-labelledby="task">
          <h2 id="task">Task</h2>
          <AttemptTask beginning={beginning} />
        </section>
        <div>
          <h2>Verdict</h2>
          {open === "" ? (
            <Verdict result={evalResultOf(line)} person={line.person ?? ""} />
          ) : (
            <MutedText>{missingVerdictText(open)}</MutedText>
          )}
        </div>
      </div>
      {open === "" && (
        <div className={styles.column}>
          <Phases phases={phases} />
          <WaitingTimes base={base} />
          <LimitsUsed line={line} />
          <Usage line={line} />
          <SandboxRules enforced={enforced} />
        </div>
      )}
    </div>
  );
}

/** Returns why an attempt in this state has no verdict. */
function missingVerdictText(state: string): string {
  return state === "running" ? "Still running." : "None: the run was interrupted.";
}

function AttemptTask({ beginning }: { beginning: LoadState<TaskAndLanguage> }) {
  const { data, error, reload } = beginning;
  if (error) return <Problem what="The task could not be loaded" error={error} onRetry={reload} />;
  if (data === null) return <MutedText>Loading…</MutedText>;
  if (data.task === "") return <MutedText>The agent received no prompt.</MutedText>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard
    <pre className={styles.task} tabIndex={0}>
      {data.task}
    </pre>
  );
}

function evalResultOf(line: AttemptLine): EvalResult {
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
