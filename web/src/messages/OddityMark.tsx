import type { LucideIcon } from "lucide-react";
import CircleQuestionMark from "lucide-react/icons/circle-question-mark";
import CircleSlash from "lucide-react/icons/circle-slash";
import CircleX from "lucide-react/icons/circle-x";
import ClockAlert from "lucide-react/icons/clock-exclamation-point";
import Copy from "lucide-react/icons/copy";
import CornerDownLeft from "lucide-react/icons/corner-down-left";
import FileWarning from "lucide-react/icons/file-exclamation-point";
import Repeat from "lucide-react/icons/repeat";
import ShieldAlert from "lucide-react/icons/shield-exclamation-point";
import Tag from "lucide-react/icons/tag";
import TimerOff from "lucide-react/icons/timer-off";
import Unlink from "lucide-react/icons/unlink";
import { shortNameText } from "./entryTexts";
import styles from "./Mark.module.css";
import type { Oddity } from "./oddity";

const oddityIcons: Readonly<Record<string, LucideIcon>> = {
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

/** An icon and a word for what is unusual about an entry, such as a timeout. */
export function OddityMark({ oddity, more = "" }: { oddity: Oddity; more?: string }) {
  const Icon = oddityIcons[oddity.icon] ?? Tag;
  return (
    <span className={`${styles.mark} ${styles[oddity.tone]}`}>
      <Icon aria-hidden="true" />
      {shortNameText(oddity.label)}
      {more}
    </span>
  );
}
