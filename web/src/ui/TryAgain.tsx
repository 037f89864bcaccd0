import { useState } from "react";
import { Button } from "./Button";
import { forgetFailures, hasFailed } from "./lazily";
import styles from "./TryAgain.module.css";

/**
 * What can be done where a part of the page failed: to draw it again and, if it could
 * not even be loaded, to load the page, since the server may have another one by now.
 */
export function TryAgain({ onTry }: { onTry: () => void }) {
  const [unloaded] = useState(hasFailed);
  return (
    <span className={styles.ways}>
      <Button
        onClick={() => {
          forgetFailures();
          onTry();
        }}
      >
        Try again
      </Button>
      {unloaded && <Button onClick={() => location.reload()}>Reload the page</Button>}
    </span>
  );
}
