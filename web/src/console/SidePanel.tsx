import { X } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import type { Config } from "../api/client";
import { AgentPanel } from "../panel/AgentPanel";
import { IconButton } from "../ui/Button";
import { Tabs } from "../ui/Tabs";
import { Variables } from "../variables/Variables";
import { PartBoundary } from "./PartBoundary";
import styles from "./SidePanel.module.css";
import { useStored } from "./useStored";

const ReactiveGraph = lazy(() => import("../variables/ReactiveGraph"));

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
  refusal: string | null;
  config: Config;
  /** Closes it, where it lies over the notebook; null: it stands beside. */
  onClose: (() => void) | null;
}

/** What stands beside the notebook. The agent's part stays when another is shown: it may hold a question half written. */
export function SidePanel({ session, connected, refusal, config, onClose }: Props) {
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
          <PartBoundary name="The agent's panel">
            <AgentPanel session={session} connected={connected} refusal={refusal} cases={config.cases} />
          </PartBoundary>
        </div>
        {seen.has("variables") && (
          <div className={styles.part} hidden={tab !== "variables"}>
            <PartBoundary name="The variables">
              <Variables />
            </PartBoundary>
          </div>
        )}
        {seen.has("graph") && (
          <div className={styles.part} hidden={tab !== "graph"}>
            <PartBoundary name="The graph">
              <Suspense fallback={<p className={styles.loading}>Loading…</p>}>
                <ReactiveGraph />
              </Suspense>
            </PartBoundary>
          </div>
        )}
      </Tabs>
    </div>
  );
}
