import { Suspense, useMemo, useState } from "react";
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
import { SidePanel } from "./SidePanel";
import { SilentKernelBar } from "./SilentKernelBar";
import { TopBar } from "./TopBar";
import { useConsoleCommands } from "./useConsoleCommands";
import { usePageNotices } from "./usePageNotices";
import { useSilentKernel } from "./useSilentKernel";
import { useTabTitle } from "./useTabTitle";
import styles from "./Workbench.module.css";

const MessagesDrawer = lazyPart(async () => (await import("../messages/MessagesDrawer")).default);

/** Renders a live session: the notebook with the bars, panels and notices around it. */
export function Workbench({ live, session }: { live: SessionSnapshot; session: string }) {
  const config = useConfig();
  const sheet = useMedia(narrowWindowQuery);
  const [beside, setBeside] = useStored("panel", true, isBoolean);
  const [over, setOver] = useState(false);
  const [flow, setFlow] = useStored("flow", false, isBoolean);
  const source = useMemo(() => traceSourceOfSession(session), [session]);
  const own = usePageNotices(live);
  const refusal = whyCannotSendCommands(live);
  const open = sheet ? over : beside;
  const setOpen = sheet ? setOver : setBeside;
  const { isSilent, noteStopRequest } = useSilentKernel();
  const commands = useConsoleCommands(live, noteStopRequest);
  useTabTitle(session, live.connection.state);
  return (
    <CommandsProvider value={commands}>
      <div className={styles.page}>
        <TopBar
          live={live}
          session={session}
          problem={refusal}
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
        <div className={styles.middle}>
          <main className={styles.notebook}>
            <SectionErrorBoundary name="The notebook">
              <SessionNotebook live={live} session={session} />
            </SectionErrorBoundary>
          </main>
          <PanelFrame isOverlay={sheet} isOpen={open} onClose={() => setOver(false)}>
            <SidePanel
              session={session}
              connected={live.connection.state === "connected"}
              refusalReason={finalRefusalReason(live)}
              commandProblem={refusal}
              config={config}
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
