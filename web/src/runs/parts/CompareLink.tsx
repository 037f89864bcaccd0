import { Link } from "wouter";
import { Button } from "../../ui/Button";
import styles from "./parts.module.css";

interface Props {
  /** Names of the selected items, at most two. */
  chosen: readonly string[];
  /** What is selected, such as "run". */
  what: string;
  /** Returns the path of the comparison. */
  path: (a: string, b: string) => string;
  onClear: () => void;
}

/** A link to the comparison of the two items selected in a table. */
export function CompareLink({ chosen, what, path, onClear }: Props) {
  const [a, b] = chosen;
  if (a === undefined) return null;
  return (
    <div className={styles.chosen} role="status">
      {b === undefined ? (
        <span>{`One ${what} selected. Select another one to compare.`}</span>
      ) : (
        <Link href={path(a, b)}>{`Compare the two selected ${what}s`}</Link>
      )}
      <Button variant="quiet" onClick={onClear}>
        Clear selection
      </Button>
    </div>
  );
}
