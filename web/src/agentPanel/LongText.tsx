import { useState } from "react";
import { showInvisible } from "../text/displayText";
import { Button } from "../ui/Button";
import styles from "./LongText.module.css";

/** How many characters are shown at first, and how many more each time. */
const slice = 20_000;

/** A text as it is, a part at a time when it is long. */
export function LongText({ text }: { text: string }) {
  const [shown, setShown] = useState(slice);
  const left = text.length - shown;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre className={styles.text} tabIndex={0}>
        {showInvisible(text.slice(0, shown))}
      </pre>
      {left > 0 && (
        <Button className={styles.more ?? ""} onClick={() => setShown(shown + slice * 5)}>
          Show more: {left.toLocaleString("en")} characters are left
        </Button>
      )}
    </>
  );
}
