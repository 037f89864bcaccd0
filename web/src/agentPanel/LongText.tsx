import { useMemo, useState } from "react";
import { showInvisible } from "../text/displayText";
import { Button } from "../ui/Button";
import styles from "./LongText.module.css";

/** Number of characters of a long text shown at first. Each click shows five times this number more. */
const initialShownChars = 20_000;

/** Shows a text, by default as code; a long one only in part, with a button that shows more. */
export function LongText({ text, className = styles.text }: { text: string; className?: string | undefined }) {
  const [shown, setShown] = useState(initialShownChars);
  const remaining = text.length - shown;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard */}
      <pre className={className} tabIndex={0}>
        {showInvisible(text.slice(0, shown))}
      </pre>
      {remaining > 0 && (
        <Button className={styles.more ?? ""} onClick={() => setShown(shown + initialShownChars * 5)}>
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
