import CirclePlus from "lucide-react/icons/circle-plus";
import FileText from "lucide-react/icons/file-text";
import Play from "lucide-react/icons/play";
import RotateCcw from "lucide-react/icons/rotate-ccw";
import Square from "lucide-react/icons/square";
import { useState } from "react";
import { attemptOverText } from "../commands/access";
import { useCommands } from "../commands/commands";
import { useNotebookNavigation } from "../commands/navigation";
import { useSelect, useStore } from "../store/store";
import { Button } from "../ui/Button";
import { ConfirmDialog } from "../ui/ConfirmDialog";
import { busyCellIds, codeCellIds, kernelState } from "./kernelState";
import type { RunAllProgress } from "./runAll";
import styles from "./TopBar.module.css";
import { useRunAll } from "./useRunAll";

interface Props {
  /** Why commands cannot be sent to the kernel; null if they can. */
  problem: string | null;
  /** Why no cell can be added; null if cells can be added. */
  addProblem: string | null;
  onError: (text: string) => void;
}

/** Renders the notebook's buttons: run all, stop, restart the kernel, add a code or Markdown cell. */
export function NotebookActions({ problem, addProblem, onError }: Props) {
  const store = useStore();
  const commands = useCommands();
  const { addCell } = useNotebookNavigation();
  const kernel = useSelect(kernelState);
  const empty = useSelect((state) => codeCellIds(state.notebook).length === 0);
  const [asking, setAsking] = useState(false);
  const over = useSelect((state) => state.verdict !== null);
  const off = problem !== null || commands === null;
  const running = problem ?? (over ? attemptOverText : null);
  const all = useRunAll(running, onError);
  const stopAll = () => {
    all.stop();
    for (const id of busyCellIds(store.get().notebook).reverse()) commands?.stopCell(id);
  };
  const gone = kernel === "dead" || kernel === "ended";
  const restart = () => (gone ? commands?.restart("kernel") : setAsking(true));
  return (
    <div className={styles.actions} role="toolbar" aria-label="Notebook">
      <Button
        variant="quiet"
        disabled={off || over || empty || all.progress !== null}
        title={all.progress === null ? tooltipText("Run all cells, up to the first error", running) : runAllTooltip}
        onClick={all.start}
      >
        <Play className={styles.icon} aria-hidden="true" />{" "}
        <span className={styles.buttonLabel}>
          {all.progress === null ? "Run all" : runAllProgressText(all.progress)}
        </span>
      </Button>
      <Button
        variant="quiet"
        disabled={off || over || (kernel !== "running" && all.progress === null)}
        title={tooltipText("Stop the running and queued cells", running)}
        onClick={stopAll}
      >
        <Square className={styles.icon} aria-hidden="true" /> <span className={styles.buttonLabel}>Stop</span>
      </Button>
      <Button
        variant={kernel === "dead" ? "accent" : "quiet"}
        disabled={off}
        title={tooltipText("Restart the kernel", problem)}
        onClick={restart}
      >
        <RotateCcw className={styles.icon} aria-hidden="true" />{" "}
        <span className={gone ? undefined : styles.buttonLabel}>Restart kernel</span>
      </Button>
      <span className={styles.gap} />
      <Button
        variant="quiet"
        disabled={addProblem !== null}
        title={tooltipText("Add a code cell at the end", addProblem)}
        onClick={() => addCell("code")}
      >
        <CirclePlus className={styles.icon} aria-hidden="true" /> <span className={styles.buttonLabel}>Code</span>
      </Button>
      <Button
        variant="quiet"
        disabled={addProblem !== null}
        title={tooltipText("Add a Markdown cell at the end", addProblem)}
        onClick={() => addCell("markdown")}
      >
        <FileText className={styles.icon} aria-hidden="true" /> <span className={styles.buttonLabel}>Markdown</span>
      </Button>
      {asking && (
        <ConfirmDialog
          title="Restart the kernel"
          text="Running cells are stopped and all variables are lost. The cells and their outputs stay."
          confirmLabel="Restart"
          onConfirm={() => commands?.restart("kernel")}
          onClose={() => setAsking(false)}
        />
      )}
    </div>
  );
}

const runAllTooltip = "All cells run, up to the first error. Press Stop to end this.";

function runAllProgressText({ cellNumber, cellCount }: RunAllProgress): string {
  return `Running ${cellNumber} of ${cellCount}`;
}

/** Returns a button's tooltip: what it does and, if it is disabled, why. */
function tooltipText(what: string, refusal: string | null): string {
  return refusal === null ? what : `${what}. ${refusal}`;
}
