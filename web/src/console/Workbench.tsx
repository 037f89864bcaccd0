import { Suspense, useMemo, useState } from "react";
import type { SessionSnapshot } from "../agent/sessionSnapshot";
import { sessionSource } from "../api/client";
import { useConfig } from "../api/config";
import { narrowWindow, useMedia } from "../browser/useMedia";
import { isBoolean, useStored } from "../browser/useStored";
import { CommandsProvider } from "../commands/commands";
import { lazyPart } from "../ui/lazyPart";
import { ConnectionBar } from "./ConnectionBar";
import { Document } from "./Document";
import { NewKernelBar } from "./NewKernelBar";
import { Notices } from "./Notices";
import { OwnerBar } from "./OwnerBar";
import { PanelFrame } from "./PanelFrame";
import { PartBoundary } from "./PartBoundary";
import { refusalOf, refusedWith } from "./refusal";
import { SidePanel } from "./SidePanel";
import { SilentKernelBar } from "./SilentKernelBar";
import { TopBar } from "./TopBar";
import { useConsoleCommands } from "./useConsoleCommands";
import { useOwnNotices } from "./useOwnNotices";
import { useSilence } from "./useSilence";
import { useTitle } from "./useTitle";
import styles from "./Workbench.module.css";

const FlowDrawer = lazyPart(async () => (await import("../messages/MessagesDrawer")).default);

/** The notebook with the bars, panels and notices around it. */
export function Workbench({ live, session }: { live: SessionSnapshot; session: string }) {
  const config = useConfig();
  const sheet = useMedia(narrowWindow);
  const [beside, setBeside] = useStored("panel", true, isBoolean);
  const [over, setOver] = useState(false);
  const [flow, setFlow] = useStored("flow", false, isBoolean);
  const source = useMemo(() => sessionSource(session), [session]);
  const own = useOwnNotices(live);
  const refusal = refusalOf(live);
  const open = sheet ? over : beside;
  const setOpen = sheet ? setOver : setBeside;
  const { silent, told } = useSilence();
  const commands = useConsoleCommands(live, told);
  useTitle(session, live.connection.state);
  return (
    <CommandsProvider value={commands}>
      <div className={styles.page}>
        <TopBar
          live={live}
          session={session}
          refusal={refusal}
          silent={silent}
          flow={flow}
          onFlow={() => setFlow(!flow)}
          panel={open}
          onPanel={() => setOpen(!open)}
          onError={own.add}
        />
        <ConnectionBar connection={live.connection} role={live.role} />
        <OwnerBar live={live} />
        <NewKernelBar pid={live.kernelPid} />
        {silent && <SilentKernelBar refusal={refusal} />}
        <div className={styles.middle}>
          <main className={styles.notebook}>
            <PartBoundary name="The notebook">
              <Document live={live} session={session} />
            </PartBoundary>
          </main>
          <PanelFrame sheet={sheet} open={open} onClose={() => setOver(false)}>
            <SidePanel
              session={session}
              connected={live.connection.state === "connected"}
              refused={refusedWith(live)}
              refusal={refusal}
              config={config}
              onClose={sheet ? () => setOver(false) : null}
            />
          </PanelFrame>
        </div>
        {flow && (
          <PartBoundary name="The messages">
            <Suspense>
              <FlowDrawer source={source} renew={live.kernelPid} onClose={() => setFlow(false)} />
            </Suspense>
          </PartBoundary>
        )}
        <Notices notices={own.notices} onDismiss={own.dismiss} />
      </div>
    </CommandsProvider>
  );
}
