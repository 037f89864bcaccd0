import { useState } from "react";
import { attemptSource } from "../../api/client";
import { Problem } from "../../api/Problem";
import type { AttemptLine } from "../../protocol/api.gen";
import { useAttempt } from "../data/useAttempt";
import { Quiet } from "../parts/Quiet";
import { TravelProvider, useNewTravel } from "../timeline/useTravel";
import { AttemptHead } from "./AttemptHead";
import { AttemptTabs } from "./AttemptTabs";

/** An attempt: its line first, which is cheap, and the rest when it is looked at. */
export function AttemptView({ run, name }: { run: string; name: string }) {
  const { data: line, error, reload } = useAttempt(run, name);
  return (
    <>
      {error && <Problem what="The attempt could not be loaded" error={error} onRetry={reload} />}
      {line === null && error === null && <Quiet>Loading…</Quiet>}
      {line !== null && <AttemptHead run={run} name={name} line={line} />}
      {line !== null && <Parts run={run} name={name} line={line} onEnd={reload} />}
    </>
  );
}

interface Props {
  run: string;
  name: string;
  line: AttemptLine;
  /** A trace that went on has ended. */
  onEnd: () => void;
}

/** Its parts. One that ran when it was opened stays where one is in it when it ends. */
function Parts({ run, name, line, onEnd }: Props) {
  const [source] = useState(() => attemptSource(run, name, line.state === "running"));
  const travel = useNewTravel(source);
  if (travel === null) return null;
  return (
    <TravelProvider value={travel}>
      <AttemptTabs line={line} onEnd={onEnd} />
    </TravelProvider>
  );
}
