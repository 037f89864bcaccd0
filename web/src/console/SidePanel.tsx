import X from "lucide-react/icons/x";
import { type ReactNode, Suspense, useState } from "react";
import type { Config } from "../api/config";
import { IconButton } from "../ui/Button";
import { lazyPart } from "../ui/lazyPart";
import { Tabs } from "../ui/Tabs";
import { SectionErrorBoundary } from "./SectionErrorBoundary";
import styles from "./SidePanel.module.css";

// Each panel is loaded when it is first shown, after the notebook.
const AgentPanel = lazyPart(async () => (await import("../agentPanel/AgentPanel")).AgentPanel);
const Variables = lazyPart(async () => (await import("../variables/Variables")).Variables);
const ReactiveGraph = lazyPart(async () => (await import("../variables/ReactiveGraph")).default);

export type TabId = "agent" | "variables" | "graph";

const sidePanelTabs: readonly { id: TabId; label: string }[] = [
  { id: "agent", label: "Agent" },
  { id: "variables", label: "Variables" },
  { id: "graph", label: "Graph" },
];

const tabsOfPerson = sidePanelTabs.map((tab) => (tab.id === "agent" ? { ...tab, label: "Task" } : tab));

export const isTabId = (value: unknown): value is TabId => sidePanelTabs.some(({ id }) => id === value);

interface Props {
  session: string;
  connected: boolean;
  /** Why the server has refused the connection; "" if it has not. */
  refusalReason: string;
  commandProblem: string | null;
  config: Config;
  tab: TabId;
  onTab: (tab: TabId) => void;
  /** Shown in place of the agent's panel; null: the agent's panel is shown. */
  personPanel: ReactNode;
  /** Closes the panel; null: there is no close button, because the panel is beside the notebook. */
  onClose: (() => void) | null;
}

/**
 * Renders the tabs of the side panel: agent, variables, graph. The agent's tab stays mounted when another
 * is shown, because it may hold an unfinished prompt.
 */
export function SidePanel(props: Props) {
  const { session, connected, refusalReason, commandProblem, config, tab, onTab, personPanel, onClose } = props;
  const [seen, setSeen] = useState<ReadonlySet<TabId>>(new Set());
  if (!seen.has(tab)) setSeen(new Set([...seen, tab]));
  return (
    <div className={styles.panel}>
      {onClose !== null && (
        <IconButton className={styles.close ?? ""} label="Close the panel" onClick={onClose}>
          <X />
        </IconButton>
      )}
      <Tabs
        label="Panel"
        tabs={personPanel === null ? sidePanelTabs : tabsOfPerson}
        current={tab}
        onChange={(id) => isTabId(id) && onTab(id)}
      >
        <div className={styles.part} hidden={tab !== "agent"}>
          <LoadedTabContent name="The agent's panel">
            {personPanel ?? (
              <AgentPanel
                session={session}
                connected={connected}
                refused={refusalReason}
                refusal={commandProblem}
                canAttachCases={config.cases}
              />
            )}
          </LoadedTabContent>
        </div>
        {seen.has("variables") && (
          <div className={styles.part} hidden={tab !== "variables"}>
            <LoadedTabContent name="The variables">
              <Variables />
            </LoadedTabContent>
          </div>
        )}
        {seen.has("graph") && (
          <div className={styles.part} hidden={tab !== "graph"}>
            <LoadedTabContent name="The graph">
              <ReactiveGraph />
            </LoadedTabContent>
          </div>
        )}
      </Tabs>
    </div>
  );
}

/** Renders a tab's content when it is loaded, or the error if it cannot be loaded or rendered. */
function LoadedTabContent({ name, children }: { name: string; children: ReactNode }) {
  return (
    <SectionErrorBoundary name={name}>
      <Suspense fallback={<p className={styles.loading}>Loading…</p>}>{children}</Suspense>
    </SectionErrorBoundary>
  );
}
