import {
  CircleQuestionMark,
  CircleSlash,
  CircleX,
  ClockAlert,
  Copy,
  CornerDownLeft,
  FileWarning,
  type LucideIcon,
  Repeat,
  ShieldAlert,
  Tag,
  TimerOff,
  Unlink,
} from "lucide-react";
import styles from "./Mark.module.css";
import type { Oddity } from "./oddity";
import { nameText } from "./words";

const icons: Readonly<Record<string, LucideIcon>> = {
  intercepted: CornerDownLeft,
  relayed: Repeat,
  timed_out: TimerOff,
  late: ClockAlert,
  orphaned: Unlink,
  duplicate: Copy,
  dropped: CircleSlash,
  malformed: FileWarning,
  tamper: ShieldAlert,
  failed: CircleX,
  unanswered: CircleQuestionMark,
};

/** What is odd about an entry, as icon and word. */
export function Mark({ oddity, more = "" }: { oddity: Oddity; more?: string }) {
  const Icon = icons[oddity.icon] ?? Tag;
  return (
    <span className={`${styles.mark} ${styles[oddity.tone]}`}>
      <Icon aria-hidden="true" />
      {nameText(oddity.word)}
      {more}
    </span>
  );
}
