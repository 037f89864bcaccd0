import type { SessionSnapshot } from "../agent/sessionSnapshot";
import { useConfig } from "../api/config";
import { PersonPanel } from "../person/PersonPanel";
import { StartView } from "../person/StartView";
import { TaskBar } from "../person/TaskBar";
import { usePersonWork } from "../person/usePersonWork";
import { finalRefusalReason, whyCannotSendCommands } from "./commandProblems";
import { Workbench } from "./Workbench";

interface Props {
  live: SessionSnapshot;
  session: string;
  /** Name of the person who does the agent's work. */
  person: string;
}

/** Renders a live session in which a person does the agent's work. */
export default function PersonWorkbench({ live, session, person }: Props) {
  const config = useConfig();
  const connected = live.connection.state === "connected";
  const work = usePersonWork(session, connected, person);
  const refusal = whyCannotSendCommands(live);
  const isWaiting = work.phase === "waiting" && (connected || work.attempt !== null);
  const cover = <StartView work={work} refusal={refusal} onStart={() => live.commands?.startAttempt()} />;
  const panel = (
    <PersonPanel
      session={session}
      work={work}
      refused={finalRefusalReason(live)}
      refusal={refusal}
      canAttachCases={config.cases}
    />
  );
  return (
    <Workbench
      live={live}
      session={session}
      person={{
        standsStill: work.standsStill,
        cover: isWaiting ? cover : null,
        panel,
        isPanelFirst: work.phase !== "waiting",
        bar: (openPanel) => !isWaiting && <TaskBar work={work} onOpen={openPanel} />,
      }}
    />
  );
}
