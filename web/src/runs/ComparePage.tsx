import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import { type AttemptName, comparePath, parseAttemptName, parseRunNames } from "../routes/paths";
import { AttemptPicker } from "./compare/AttemptPicker";
import styles from "./compare/Compare.module.css";
import { CompareView } from "./compare/CompareView";
import { RunsCompare } from "./compare/RunsCompare";
import { useAttempt } from "./data/useAttempt";
import { MutedText } from "./parts/MutedText";
import { RunsPageFrame } from "./parts/RunsPageFrame";

const breadcrumbs = [{ label: "Runs", href: "/runs" }];

/**
 * Compares two attempts side by side, or two runs case by case. The parameters a and b of the
 * address name them.
 */
export default function ComparePage() {
  return (
    <RunsPageFrame title="Compare" crumbs={breadcrumbs}>
      <AddressedComparison />
    </RunsPageFrame>
  );
}

function AddressedComparison() {
  const parameters = new URLSearchParams(useSearch());
  const runs = parseRunNames(parameters.get("runs"));
  const a = parseAttemptName(parameters.get("a"));
  const b = parseAttemptName(parameters.get("b"));
  if (runs !== null) return <RunsCompare key={runs.join("/")} a={runs[0]} b={runs[1]} />;
  return (
    <>
      <h1 className={styles.title}>Compare two attempts</h1>
      {a === null ? <AttemptPickers a={a} b={b} caseId="" /> : <SameCasePickers a={a} b={b} />}
      {a !== null && b !== null ? (
        <CompareView key={comparePath(a, b)} a={a} b={b} />
      ) : (
        <MutedText>Choose two attempts.</MutedText>
      )}
    </>
  );
}

interface ComparedAttemptNames {
  a: AttemptName | null;
  b: AttemptName | null;
}

/** Selects attempt B for a comparison; offers only attempts at the case of A. */
function SameCasePickers({ a, b }: ComparedAttemptNames & { a: AttemptName }) {
  const { data } = useAttempt(a.run, a.attempt);
  return <AttemptPickers a={a} b={b} caseId={data?.case_id ?? ""} />;
}

function AttemptPickers({ a, b, caseId }: ComparedAttemptNames & { caseId: string }) {
  const [, navigate] = useLocation();
  return (
    <div className={styles.pickers}>
      <AttemptPicker side="A" name={a} caseId="" onPick={(name) => navigate(comparePath(name, b))} />
      <AttemptPicker side="B" name={b} caseId={caseId} onPick={(name) => navigate(comparePath(a, name))} />
    </div>
  );
}
