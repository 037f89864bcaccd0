import { CircleAlert, CircleDashed, CirclePlay, CircleSmall } from "lucide-react";
import { useSelect } from "../store/store";
import { Badge, type Tone } from "../ui/Badge";
import { busyCells, type KernelState, kernelState } from "./kernel";
import styles from "./TopBar.module.css";

const tones: Readonly<Record<KernelState, Tone>> = {
  starting: "neutral",
  idle: "neutral",
  running: "accent",
  dead: "bad",
  ended: "neutral",
};

const icons = { starting: CircleDashed, idle: CircleSmall, running: CirclePlay, dead: CircleAlert, ended: CircleSmall };

/** The kernel: its language, and what it does. */
export function KernelBadge({ language, pid }: { language: string; pid: number }) {
  const state = useSelect(kernelState);
  const busy = useSelect(({ notebook }) => busyCells(notebook).length);
  const Icon = icons[state];
  const title = pid > 0 ? `Kernel, process ${pid}` : "Kernel";
  return (
    <Badge tone={tones[state]} title={title}>
      <Icon className={styles.icon} aria-hidden="true" />
      <span className={styles.language}>{language.slice(0, 20) || "kernel"}</span>
      <span>{state === "running" && busy > 1 ? `running, ${busy - 1} wait` : state}</span>
    </Badge>
  );
}
