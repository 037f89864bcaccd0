import { plainName } from "../text/displayText";
import { Button } from "../ui/Button";
import { ApiError } from "./client";
import styles from "./Problem.module.css";

interface Props {
  /** What could not be done, such as "The runs could not be loaded". */
  what: string;
  error: Error;
  onRetry?: () => void;
}

/** Shows what went wrong and why, and offers to try again. */
export function Problem({ what, error, onRetry }: Props) {
  const missing = error instanceof ApiError && error.status === 404;
  return (
    <div className={styles.problem} role="alert">
      <p>
        {what}: {plainName(error.message)}
        {missing ? ". It may have been renamed or removed." : "."}
      </p>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}
