import type { Case } from "../protocol/api.gen";
import { oneLine } from "../text/displayText";
import { Badge } from "../ui/Badge";
import styles from "./AttachCase.module.css";

interface Props {
  listed: Case;
  chosen: boolean;
  onChoose: (listed: Case) => void;
}

const mostTags = 6;

/** A case to choose. */
export function CaseChoice({ listed, chosen, onChoose }: Props) {
  return (
    <label className={styles.choice}>
      <input type="radio" name="case" checked={chosen} onChange={() => onChoose(listed)} />
      <span className={styles.about}>
        <span className={styles.id}>
          <strong>{oneLine(listed.id, 80)}</strong>
          {listed.tags.slice(0, mostTags).map((tag) => (
            <Badge key={tag}>{oneLine(tag, 30)}</Badge>
          ))}
        </span>
        <span className={styles.task}>{oneLine(listed.task, 200)}</span>
        <span className={styles.path}>{oneLine(listed.path, 200)}</span>
      </span>
    </label>
  );
}
