import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import { type AttemptName, comparePath, parseAttemptName, parseRunNames } from "../routes/paths";
import styles from "./compare/Compare.module.css";
import { CompareView } from "./compare/CompareView";
import { Picker } from "./compare/Picker";
import { RunsCompare } from "./compare/RunsCompare";
import { useAttempt } from "./data/useAttempt";
import { Page } from "./parts/Page";
import { Quiet } from "./parts/Quiet";

const crumbs = [{ label: "Runs", href: "/runs" }];

/** Two attempts side by side, or two runs case by case; the address names them. */
export default function ComparePage() {
  return (
    <Page title="Compare" crumbs={crumbs}>
      <Chosen />
    </Page>
  );
}

function Chosen() {
  const parameters = new URLSearchParams(useSearch());
  const runs = parseRunNames(parameters.get("runs"));
  const a = parseAttemptName(parameters.get("a"));
  const b = parseAttemptName(parameters.get("b"));
  if (runs !== null) return <RunsCompare key={runs.join("/")} a={runs[0]} b={runs[1]} />;
  return (
    <>
      <h1 className={styles.title}>Compare two attempts</h1>
      {a === null ? <Pickers a={a} b={b} caseId="" /> : <PickersOfCase a={a} b={b} />}
      {a !== null && b !== null ? (
        <CompareView key={comparePath(a, b)} a={a} b={b} />
      ) : (
        <Quiet>Choose two attempts.</Quiet>
      )}
    </>
  );
}

interface Sides {
  a: AttemptName | null;
  b: AttemptName | null;
}

/** B is chosen among attempts at the case of A. */
function PickersOfCase({ a, b }: Sides & { a: AttemptName }) {
  const { data } = useAttempt(a.run, a.attempt);
  return <Pickers a={a} b={b} caseId={data?.case_id ?? ""} />;
}

function Pickers({ a, b, caseId }: Sides & { caseId: string }) {
  const [, navigate] = useLocation();
  return (
    <div className={styles.pickers}>
      <Picker side="A" name={a} caseId="" onPick={(name) => navigate(comparePath(name, b))} />
      <Picker side="B" name={b} caseId={caseId} onPick={(name) => navigate(comparePath(a, name))} />
    </div>
  );
}
