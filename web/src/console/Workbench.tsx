import { type KeyboardEvent, useState } from "react";
import type { Live } from "../agent/live";
import { useConfig } from "../app/config";
import { Notebook } from "../notebook/Notebook";
import { useSelect } from "../store/store";
import { ConnectionBar } from "./ConnectionBar";
import { Notices } from "./Notices";
import { OwnerBar } from "./OwnerBar";
import { PartBoundary } from "./PartBoundary";
import { PhaseView } from "./PhaseView";
import { refusalOf } from "./refusal";
import { SidePanel } from "./SidePanel";
import { Splitter } from "./Splitter";
import { TopBar } from "./TopBar";
import { narrow, useMedia } from "./useMedia";
import { useOwnNotices } from "./useOwnNotices";
import { useSheetFocus } from "./useSheetFocus";
import { isFlag, isSize, useStored } from "./useStored";
import { useTitle } from "./useTitle";
import styles from "./Workbench.module.css";

const smallest = 280;

/** The notebook with all that stands around it. */
export function Workbench({ live, session }: { live: Live; session: string }) {
  const config = useConfig();
  const sheet = useMedia(narrow);
  const [beside, setBeside] = useStored("panel", true, isFlag);
  const [over, setOver] = useState(false);
  const [width, setWidth] = useStored("panel.width", 420, isSize);
  const own = useOwnNotices(live);
  const refusal = refusalOf(live);
  const open = sheet ? over : beside;
  const setOpen = sheet ? setOver : setBeside;
  const most = Math.max(smallest, Math.round(window.innerWidth * 0.6));
  useTitle(session, live.connection.state);
  const side = useSheetFocus(sheet && open);
  const onKeyDown = (event: KeyboardEvent) => {
    if (sheet && event.key === "Escape" && !event.defaultPrevented) setOver(false);
  };
  return (
    <div className={styles.page}>
      <TopBar
        live={live}
        session={session}
        refusal={refusal}
        panel={open}
        onPanel={() => setOpen(!open)}
        onError={own.add}
      />
      <ConnectionBar connection={live.connection} role={live.role} />
      <OwnerBar live={live} />
      <div className={styles.middle}>
        <main className={styles.notebook}>
          <PartBoundary name="The notebook">
            <Document live={live} session={session} />
          </PartBoundary>
        </main>
        {open && !sheet && (
          <Splitter
            label="Width of the panel"
            orientation="vertical"
            size={Math.min(width, most)}
            min={smallest}
            max={most}
            onSize={setWidth}
          />
        )}
        <aside
          className={sheet ? styles.sheet : styles.side}
          ref={side}
          tabIndex={-1}
          aria-label="Panel"
          hidden={!open}
          style={sheet ? undefined : { width: Math.min(width, most) }}
          onKeyDown={onKeyDown}
        >
          <SidePanel
            session={session}
            connected={live.connection.state === "connected"}
            refusal={refusal}
            config={config}
            onClose={sheet ? () => setOver(false) : null}
          />
        </aside>
      </div>
      <Notices notices={own.notices} onDismiss={own.dismiss} />
    </div>
  );
}

/** The notebook, or why it is not there yet. */
function Document({ live, session }: { live: Live; session: string }) {
  const known = useSelect((state) => state.notebook.seq > 0 || state.notebook.order.length > 0);
  const { connection, phase, language } = live;
  const waits = connection.state !== "connected" && !known && connection.code === null;
  if (waits) return <PhaseView session={session} phase={phase} />;
  return <Notebook language={language} focus={new URLSearchParams(location.search).get("cell")} />;
}
