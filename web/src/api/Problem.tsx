import { plainName } from "../text/visible";
import { Button } from "../ui/Button";
import { ApiError } from "./client";
import styles from "./Problem.module.css";

interface Props {
  /** What could not be done, as "The runs could not be loaded". */
  what: string;
  error: Error;
  onRetry?: () => void;
}

/** Says what went wrong, why, and lets one try again. */
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
