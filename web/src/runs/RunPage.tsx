import { usePathSegment } from "../routes/paths";
import { RunsPageFrame } from "./parts/RunsPageFrame";
import { RunView } from "./run/RunView";

const crumbs = [{ label: "Runs", href: "/runs" }];

/** The page of one run. */
export default function RunPage({ run }: { run: string }) {
  const name = usePathSegment(1, run);
  return (
    <RunsPageFrame title={name} crumbs={crumbs}>
      <RunView key={name} name={name} />
    </RunsPageFrame>
  );
}
