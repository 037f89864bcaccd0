import { usePathSegment } from "../routes/paths";
import { Page } from "./parts/Page";
import { RunView } from "./run/RunView";

const crumbs = [{ label: "Runs", href: "/runs" }];

/** One run. */
export default function RunPage({ run }: { run: string }) {
  const name = usePathSegment(1, run);
  return (
    <Page title={name} crumbs={crumbs}>
      <RunView key={name} name={name} />
    </Page>
  );
}
