import { useState } from "react";
import { Button } from "./Button";
import { forgetLoadFailures, hasLoadFailures } from "./lazyPart";
import styles from "./RetryButtons.module.css";

/**
 * Renders buttons for a part of the page that failed: one that renders it again and, if it could not be
 * loaded, one that reloads the page, because the server may have a newer build.
 */
export function RetryButtons({ onTry: onRetry }: { onTry: () => void }) {
  const [couldNotLoad] = useState(hasLoadFailures);
  return (
    <span className={styles.buttons}>
      <Button
        onClick={() => {
          forgetLoadFailures();
          onRetry();
        }}
      >
        Try again
      </Button>
      {couldNotLoad && <Button onClick={() => location.reload()}>Reload the page</Button>}
    </span>
  );
}
