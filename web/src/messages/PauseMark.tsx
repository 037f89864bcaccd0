import MoreHorizontal from "lucide-react/icons/ellipsis";
import { formatDuration } from "../format/format";
import styles from "./FrameList.module.css";

/** Shows the length of a long pause before an entry. */
export function PauseMark({ ms }: { ms: number | null }) {
  return (
    <span className={styles.gap}>
      {ms !== null && (
        <span className={styles.silence} title={`Nothing for ${formatDuration(ms)}`}>
          <MoreHorizontal aria-hidden="true" />
          {formatDuration(ms)}
        </span>
      )}
    </span>
  );
}
