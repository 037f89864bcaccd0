import CircleDashed from "lucide-react/icons/circle-dashed";
import CircleAlert from "lucide-react/icons/circle-exclamation-point";
import CirclePlay from "lucide-react/icons/circle-play";
import CircleSmall from "lucide-react/icons/circle-small";
import { useSelect } from "../store/store";
import { Badge, type Tone } from "../ui/Badge";
import { busyCellIds, type KernelState, kernelState } from "./kernelState";
import styles from "./TopBar.module.css";

const kernelStateTones: Readonly<Record<KernelState, Tone>> = {
  starting: "neutral",
  idle: "neutral",
  running: "accent",
  dead: "bad",
  ended: "neutral",
};

const kernelStateIcons = {
  starting: CircleDashed,
  idle: CircleSmall,
  running: CirclePlay,
  dead: CircleAlert,
  ended: CircleSmall,
};

interface Props {
  language: string;
  pid: number;
  /** Whether the kernel has not reacted to a request to stop. */
  isSilent: boolean;
}

/** Shows the kernel's language and state as a badge. */
export function KernelBadge({ language, pid, isSilent }: Props) {
  const state = useSelect(kernelState);
  const busy = useSelect(({ notebook }) => busyCellIds(notebook).length);
  const Icon = isSilent ? CircleAlert : kernelStateIcons[state];
  const title = pid > 0 ? `Kernel, process ${pid}` : "Kernel";
  return (
    <Badge tone={isSilent ? "bad" : kernelStateTones[state]} title={title}>
      <Icon className={styles.icon} aria-hidden="true" />
      <span className={styles.language}>{language.slice(0, 20) || "kernel"}</span>
      <span>{isSilent ? "not responding" : kernelStateText(state, busy)}</span>
    </Badge>
  );
}

/** Returns the kernel's state, with the number of queued cells if there are any. */
function kernelStateText(state: KernelState, busy: number): string {
  return state === "running" && busy > 1 ? `running, ${busy - 1} queued` : state;
}
