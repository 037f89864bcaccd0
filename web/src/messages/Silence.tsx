import MoreHorizontal from "lucide-react/icons/ellipsis";
import { formatDuration } from "../format/format";
import styles from "./FrameList.module.css";

/** A long time in which nothing happened, at the entry that ended it. */
export function Silence({ ms }: { ms: number | null }) {
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
