import { Link } from "wouter";
import { Button } from "../../ui/Button";
import styles from "./parts.module.css";

interface Props {
  /** Names of those that were chosen, two at most. */
  chosen: readonly string[];
  /** What they are: "run". */
  what: string;
  /** The page of two of them. */
  path: (a: string, b: string) => string;
  onClear: () => void;
}

/** Leads to the comparison of two that were chosen in a table. */
export function Chosen({ chosen, what, path, onClear }: Props) {
  const [a, b] = chosen;
  if (a === undefined) return null;
  return (
    <div className={styles.chosen} role="status">
      {b === undefined ? (
        <span>{`One ${what} is chosen. Choose another to compare them.`}</span>
      ) : (
        <Link href={path(a, b)}>{`Compare the two chosen ${what}s`}</Link>
      )}
      <Button variant="quiet" onClick={onClear}>
        Choose none
      </Button>
    </div>
  );
}
