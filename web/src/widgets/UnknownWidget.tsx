import { useMemo } from "react";
import { showInvisible } from "../text/displayText";
import { Note } from "./Note";
import styles from "./UnknownWidget.module.css";
import { jsonText } from "./valueText";

const maxJsonLength = 10_000; // characters of JSON that are shown

/** Shows the state of a widget as JSON, at most 10,000 characters, with a sentence that says why it has no control. */
export function UnknownWidget({ widget, why }: { widget: unknown; why: string }) {
  const json = useMemo(() => jsonText(widget, 2), [widget]);
  return (
    <div>
      <Note>{why}</Note>
      <pre className={styles.json}>{showInvisible(json.slice(0, maxJsonLength))}</pre>
      {json.length > maxJsonLength && (
        <Note>{(json.length - maxJsonLength).toLocaleString("en")} more characters are not shown.</Note>
      )}
    </div>
  );
}
