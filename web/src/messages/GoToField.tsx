import { type FormEvent, useState } from "react";
import styles from "./ToolBar.module.css";
import { parsePosition, type TracePosition } from "./tracePosition";

/** A field in which the user types an entry number or a time to go to. */
export function GoToField({ onGo }: { onGo: (place: TracePosition) => void }) {
  const [written, setWritten] = useState("");
  const place = parsePosition(written);
  const wrong = written.trim() !== "" && place === null;
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (place === null) return;
    onGo(place);
    setWritten("");
  };
  return (
    <form onSubmit={onSubmit}>
      <input
        className={styles.goTo}
        aria-label="Go to an entry, or a time such as +12.5"
        title="An entry, as 120, or a time, as +12.5"
        placeholder="Go to 120 or +12.5"
        aria-invalid={wrong}
        autoComplete="off"
        value={written}
        onChange={(event) => setWritten(event.target.value)}
      />
    </form>
  );
}
