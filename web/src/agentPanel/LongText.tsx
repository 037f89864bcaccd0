import { useMemo, useState } from "react";
import { showInvisible } from "../text/displayText";
import { Button } from "../ui/Button";
import styles from "./LongText.module.css";

/** How many characters are shown at first; each click shows five times as many more. */
const firstChars = 20_000;

/** Shows a text as it is; a long one in parts. */
export function LongText({ text }: { text: string }) {
  const [shown, setShown] = useState(firstChars);
  const remaining = text.length - shown;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard */}
      <pre className={styles.text} tabIndex={0}>
        {showInvisible(text.slice(0, shown))}
      </pre>
      {remaining > 0 && (
        <Button className={styles.more ?? ""} onClick={() => setShown(shown + firstChars * 5)}>
          Show more ({remaining.toLocaleString("en")} characters left)
        </Button>
      )}
    </>
  );
}

/** Shows a value as indented JSON. */
export function JsonText({ value }: { value: unknown }) {
  const text = useMemo(() => indentedJSON(value), [value]);
  return <LongText text={text} />;
}

function indentedJSON(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? "none";
  } catch {
    return "This value cannot be written as JSON.";
  }
}
