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
import { isHeldElsewhere, isHolder, whyCannotAddCell } from "./commandProblems";
import { DownloadNotebook } from "./DownloadNotebook";
import { KernelBadge } from "./KernelBadge";
import { NotebookActions } from "./NotebookActions";
import styles from "./TopBar.module.css";

interface Props {
  live: SessionSnapshot;
  session: string;
  problem: string | null;
  /** Why the notebook cannot be changed; null if it can. */
  standsStill: string | null;
  /** Whether an agent works in the session; false: a person does. */
  hasAgent: boolean;
  /** Whether the kernel has not reacted to a request to stop. */
  isKernelSilent: boolean;
  /** Whether the drawer with the messages is open. */
  areMessagesOpen: boolean;
  onToggleMessages: () => void;
  /** Whether the side panel is open. */
  isPanelOpen: boolean;
  onTogglePanel: () => void;
  onError: (text: string) => void;
}

/** Renders the bar at the top: status badges, and the buttons for the notebook, the messages and the panel. */
export function TopBar({
  live,
  session,
  problem,
  standsStill,
  hasAgent,
  isKernelSilent,
  areMessagesOpen,
  onToggleMessages,
  isPanelOpen,
  onTogglePanel,
  onError,
}: Props) {
  const [keys, setKeys] = useState(false);
  const over = useSelect((state) => state.verdict !== null);
  return (
    <header className={styles.bar}>
      <h1 className={styles.name}>Assay</h1>
      <span className={styles.session} title={`Session ${session}`}>
        {session.slice(0, 60)}
      </span>
      {!isHeldElsewhere(live) && (
        <KernelBadge language={live.language} pid={live.kernelPid} isSilent={isKernelSilent} />
      )}
      {isHolder(live) && (
        <Badge tone="accent" title="This page holds the notebook: the agent's actions on cells are sent to it">
          holds the notebook
        </Badge>
      )}
      <NotebookActions problem={problem} addProblem={standsStill ?? whyCannotAddCell(live, over)} onError={onError} />
      <div className={styles.end}>
        {hasAgent && !isHeldElsewhere(live) && <AgentBadge />}
        <ConnectionBadge state={live.connection.state} />
        <Link href="/runs" className={styles.link}>
          Runs
        </Link>
        <DownloadNotebook session={session} language={live.language} />
        <IconButton
          label={areMessagesOpen ? "Close messages" : "Open messages"}
          aria-expanded={areMessagesOpen}
          onClick={onToggleMessages}
        >
          <ArrowLeftRight />
        </IconButton>
        <IconButton label="Keyboard shortcuts" onClick={() => setKeys(true)}>
          <Keyboard />
        </IconButton>
        <ThemeSwitch />
        <IconButton
          label={isPanelOpen ? "Close the panel" : "Open the panel"}
          aria-expanded={isPanelOpen}
          onClick={onTogglePanel}
        >
          <PanelRight />
        </IconButton>
      </div>
      {keys && <ShortcutsHelp onClose={() => setKeys(false)} />}
    </header>
  );
}
