import { runPath, usePathSegment } from "../routes/paths";
import { AttemptView } from "./attempt/AttemptView";
import { RunsPageFrame } from "./parts/RunsPageFrame";

/** The page of one attempt, which the address names by run and attempt. */
export default function AttemptPage({ run, attempt }: { run: string; attempt: string }) {
  const runName = usePathSegment(1, run);
  const name = usePathSegment(2, attempt);
  const crumbs = [
    { label: "Runs", href: "/runs" },
    { label: runName, href: runPath(runName) },
  ];
  return (
    <RunsPageFrame title={name} crumbs={crumbs} fixed>
      <AttemptView key={`${runName}/${name}`} run={runName} name={name} />
    </RunsPageFrame>
  );
}
