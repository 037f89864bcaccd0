import X from "lucide-react/icons/x";
import { type ReactNode, Suspense, useState } from "react";
import type { Config } from "../api/config";
import { useStored } from "../browser/useStored";
import { IconButton } from "../ui/Button";
import { lazyPart } from "../ui/lazyPart";
import { Tabs } from "../ui/Tabs";
import { PartBoundary } from "./PartBoundary";
import styles from "./SidePanel.module.css";

// Each panel is loaded when it is first shown, after the notebook.
const AgentPanel = lazyPart(async () => (await import("../agentPanel/AgentPanel")).AgentPanel);
const Variables = lazyPart(async () => (await import("../variables/Variables")).Variables);
const ReactiveGraph = lazyPart(async () => (await import("../variables/ReactiveGraph")).default);

type TabId = "agent" | "variables" | "graph";

const tabs: readonly { id: TabId; label: string }[] = [
  { id: "agent", label: "Agent" },
  { id: "variables", label: "Variables" },
  { id: "graph", label: "Graph" },
];

const isTab = (value: unknown): value is TabId => tabs.some(({ id }) => id === value);

interface Props {
  session: string;
  connected: boolean;
  /** Why the server has refused the connection; "": it has not. */
  refused: string;
  refusal: string | null;
  config: Config;
  /** Closes the panel; null: it stands beside the notebook and cannot be closed here. */
  onClose: (() => void) | null;
}

/**
 * The side panel with its tabs. The agent's tab stays mounted when another is shown, because it may
 * hold an unfinished prompt.
 */
export function SidePanel({ session, connected, refused, refusal, config, onClose }: Props) {
  const [tab, setTab] = useStored<TabId>("tab", "agent", isTab);
  const [seen, setSeen] = useState<ReadonlySet<TabId>>(new Set([tab]));
  const show = (id: string) => {
    if (!isTab(id)) return;
    setTab(id);
    setSeen(new Set([...seen, id]));
  };
  return (
    <div className={styles.panel}>
      {onClose !== null && (
        <IconButton className={styles.close ?? ""} label="Close the panel" onClick={onClose}>
          <X />
        </IconButton>
      )}
      <Tabs label="Panel" tabs={tabs} current={tab} onChange={show}>
        <div className={styles.part} hidden={tab !== "agent"}>
          <Part name="The agent's panel">
            <AgentPanel
              session={session}
              connected={connected}
              refused={refused}
              refusal={refusal}
              canAttachCases={config.cases}
            />
          </Part>
        </div>
        {seen.has("variables") && (
          <div className={styles.part} hidden={tab !== "variables"}>
            <Part name="The variables">
              <Variables />
            </Part>
          </div>
        )}
        {seen.has("graph") && (
          <div className={styles.part} hidden={tab !== "graph"}>
            <Part name="The graph">
              <ReactiveGraph />
            </Part>
          </div>
        )}
      </Tabs>
    </div>
  );
}

function Part({ name, children }: { name: string; children: ReactNode }) {
  return (
    <PartBoundary name={name}>
      <Suspense fallback={<p className={styles.loading}>Loading…</p>}>{children}</Suspense>
    </PartBoundary>
  );
}
