import { TriangleAlert } from "lucide-react";
import { textOrJSON } from "../json/values";
import { showInvisible } from "../text/displayText";
import styles from "./EventLine.module.css";

/** How much of an error is shown, in characters. */
const longest = 20_000;

/** An error that the agent told of. */
export function ErrorLine({ text, fatal }: { text: string; fatal: boolean }) {
  return (
    <div className={styles.error}>
      <TriangleAlert aria-hidden="true" />
      <div className={styles.errorText}>
        <strong>{fatal ? "The agent stopped" : "The agent had an error"}</strong>
        <pre>{showInvisible(textOrJSON(text).slice(0, longest)) || "It did not say why."}</pre>
      </div>
    </div>
  );
}
