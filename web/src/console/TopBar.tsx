import ArrowLeftRight from "lucide-react/icons/arrow-left-right";
import Keyboard from "lucide-react/icons/keyboard";
import PanelRight from "lucide-react/icons/panel-right";
import { useState } from "react";
import { Link } from "wouter";
import type { SessionSnapshot } from "../agent/sessionSnapshot";
import { ShortcutsHelp } from "../notebook/ShortcutsHelp";
import { useSelect } from "../store/store";
import { Badge } from "../ui/Badge";
import { IconButton } from "../ui/Button";
import { ThemeSwitch } from "../ui/ThemeSwitch";
import { AgentBadge } from "./AgentBadge";
import { ConnectionBadge } from "./ConnectionBadge";
import { DownloadNotebook } from "./DownloadNotebook";
import { KernelBadge } from "./KernelBadge";
import { NotebookActions } from "./NotebookActions";
import { addingRefusal, holds, isRefused } from "./refusal";
import styles from "./TopBar.module.css";

interface Props {
  live: SessionSnapshot;
  session: string;
  refusal: string | null;
  /** The kernel does not respond. */
  silent: boolean;
  /** The drawer with the messages is open. */
  flow: boolean;
  onFlow: () => void;
  /** The side panel is open. */
  panel: boolean;
  onPanel: () => void;
  onError: (text: string) => void;
}

/** The bar at the top: status badges and the buttons for notebook, messages and panel. */
export function TopBar({ live, session, refusal, silent, flow, onFlow, panel, onPanel, onError }: Props) {
  const [keys, setKeys] = useState(false);
  const over = useSelect((state) => state.verdict !== null);
  return (
    <header className={styles.bar}>
      <h1 className={styles.name}>Assay</h1>
      <span className={styles.session} title={`Session ${session}`}>
        {session.slice(0, 60)}
      </span>
      {!isRefused(live) && <KernelBadge language={live.language} pid={live.kernelPid} silent={silent} />}
      {holds(live) && (
        <Badge tone="accent" title="The cells are this page's own: the agent asks it for all that it does with them">
          holds the notebook
        </Badge>
      )}
      <NotebookActions refusal={refusal} adding={addingRefusal(live, over)} onError={onError} />
      <div className={styles.end}>
        {!isRefused(live) && <AgentBadge />}
        <ConnectionBadge state={live.connection.state} />
        <Link href="/runs" className={styles.link}>
          Runs
        </Link>
        <DownloadNotebook session={session} language={live.language} />
        <IconButton label={flow ? "Close messages" : "Open messages"} aria-expanded={flow} onClick={onFlow}>
          <ArrowLeftRight />
        </IconButton>
        <IconButton label="Keys" onClick={() => setKeys(true)}>
          <Keyboard />
        </IconButton>
        <ThemeSwitch />
        <IconButton label={panel ? "Close the panel" : "Open the panel"} aria-expanded={panel} onClick={onPanel}>
          <PanelRight />
        </IconButton>
      </div>
      {keys && <ShortcutsHelp onClose={() => setKeys(false)} />}
    </header>
  );
}
