import { useMemo } from "react";
import { showInvisible } from "../text/displayText";
import { Note } from "./Note";
import styles from "./UnknownWidget.module.css";
import { jsonText } from "./valueText";

const maxJsonLength = 10_000; // characters of JSON that are shown

/** The state of a widget without a control, as JSON. */
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
