import { usePathSegment } from "../routes/paths";
import { RunsPageFrame } from "./parts/RunsPageFrame";
import { RunView } from "./run/RunView";

const breadcrumbs = [{ label: "Runs", href: "/runs" }];

/** The page of one run, which the address names. */
export default function RunPage({ run }: { run: string }) {
  const name = usePathSegment(1, run);
  return (
    <RunsPageFrame title={name} crumbs={breadcrumbs}>
      <RunView key={name} name={name} />
    </RunsPageFrame>
  );
}
