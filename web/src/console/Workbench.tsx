import { type ReactNode, Suspense, useEffect, useMemo, useState } from "react";
import type { SessionSnapshot } from "../agent/sessionSnapshot";
import { traceSourceOfSession } from "../api/client";
import { useConfig } from "../api/config";
import { narrowWindowQuery, useMedia } from "../browser/useMedia";
import { isBoolean, useStored } from "../browser/useStored";
import { CommandsProvider } from "../commands/commands";
import { lazyPart } from "../ui/lazyPart";
import { ConnectionBar } from "./ConnectionBar";
import { finalRefusalReason, whyCannotSendCommands } from "./commandProblems";
import { KernelReplacedBar } from "./KernelReplacedBar";
import { Notices } from "./Notices";
import { OwnerBar } from "./OwnerBar";
import { PanelFrame } from "./PanelFrame";
import { SectionErrorBoundary } from "./SectionErrorBoundary";
import { SessionNotebook } from "./SessionNotebook";
import { isTabId, SidePanel, type TabId } from "./SidePanel";
import { SilentKernelBar } from "./SilentKernelBar";
import { TopBar } from "./TopBar";
import { useConsoleCommands } from "./useConsoleCommands";
import { usePageNotices } from "./usePageNotices";
import { useSilentKernel } from "./useSilentKernel";
import { useTabTitle } from "./useTabTitle";
import styles from "./Workbench.module.css";

const MessagesDrawer = lazyPart(async () => (await import("../messages/MessagesDrawer")).default);

/** What the page shows if a person does the agent's work. */
export interface PersonParts {
  /** Why the notebook cannot be changed now, as a sentence; null: it can. */
  standsStill: string | null;
  /** Shown in place of the notebook; null: the notebook is shown. */
  cover: ReactNode;
  /** Shown in place of the agent's panel. */
  panel: ReactNode;
  /** Whether the panel's first tab is what to look at first: it is then selected, and a narrow window opens the panel. */
  isPanelFirst: boolean;
  /** Shown above the notebook while the panel is closed; openPanel shows its first tab. */
  bar: (openPanel: () => void) => ReactNode;
}

interface Props {
  live: SessionSnapshot;
  session: string;
  /** null or absent: an agent works. */
  person?: PersonParts | null;
}

/** Renders a live session: the notebook with the bars, panels and notices around it. */
export function Workbench({ live, session, person = null }: Props) {
  const config = useConfig();
  const sheet = useMedia(narrowWindowQuery);
  const [beside, setBeside] = useStored("panel", true, isBoolean);
  const [over, setOver] = useState(false);
  const [tab, setTab] = useStored<TabId>("tab", "agent", isTabId);
  const [flow, setFlow] = useStored("flow", false, isBoolean);
  const source = useMemo(() => traceSourceOfSession(session), [session]);
  const own = usePageNotices(live);
  const refusal = whyCannotSendCommands(live);
  const open = sheet ? over : beside;
  const setOpen = sheet ? setOver : setBeside;
  const { isSilent, noteStopRequest } = useSilentKernel();
  const commands = useConsoleCommands(live, noteStopRequest);
  const standsStill = person?.standsStill ?? null;
  const isPanelFirst = person?.isPanelFirst ?? false;
  useEffect(() => {
    setOver(isPanelFirst);
    if (isPanelFirst) setTab("agent");
  }, [isPanelFirst, setTab]);
  const openFirstTab = () => {
    setTab("agent");
    setOpen(true);
  };
  useTabTitle(session, live.connection.state, person !== null);
  return (
    <CommandsProvider value={standsStill === null ? commands : null}>
      <div className={styles.page}>
        <TopBar
          live={live}
          session={session}
          problem={standsStill ?? refusal}
          standsStill={standsStill}
          hasAgent={person === null}
          isKernelSilent={isSilent}
          areMessagesOpen={flow}
          onToggleMessages={() => setFlow(!flow)}
          isPanelOpen={open}
          onTogglePanel={() => setOpen(!open)}
          onError={own.add}
        />
        <ConnectionBar connection={live.connection} role={live.role} />
        <OwnerBar live={live} />
        <KernelReplacedBar pid={live.kernelPid} />
        {isSilent && <SilentKernelBar commandProblem={refusal} />}
        {!open && person?.bar(openFirstTab)}
        <div className={styles.middle}>
          <main className={styles.notebook}>
            <SectionErrorBoundary name="The notebook">
              {person?.cover ?? <SessionNotebook live={live} session={session} />}
            </SectionErrorBoundary>
          </main>
          <PanelFrame isOverlay={sheet} isOpen={open} onClose={() => setOver(false)}>
            <SidePanel
              session={session}
              connected={live.connection.state === "connected"}
              refusalReason={finalRefusalReason(live)}
              commandProblem={refusal}
              config={config}
              tab={tab}
              onTab={setTab}
              personPanel={person?.panel ?? null}
              onClose={sheet ? () => setOver(false) : null}
            />
          </PanelFrame>
        </div>
        {flow && (
          <SectionErrorBoundary name="The messages">
            <Suspense>
              <MessagesDrawer source={source} renew={live.kernelPid} onClose={() => setFlow(false)} />
            </Suspense>
          </SectionErrorBoundary>
        )}
        <Notices notices={own.notices} onDismiss={own.dismiss} />
      </div>
    </CommandsProvider>
  );
}
