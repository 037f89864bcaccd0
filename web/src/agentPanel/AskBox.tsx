import { SendHorizontal } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { useCommands } from "../commands/commands";
import { IconButton } from "../ui/Button";
import styles from "./AskBox.module.css";

interface Props {
  /** Why nothing can be asked; null: it can. */
  refusal: string | null;
  /** What is to be known before asking; "": nothing. */
  note: string;
}

const mostRows = 8;

/** Where a person gives the agent something to do. Enter sends, Shift-Enter begins a line. */
export function AskBox({ refusal, note }: Props) {
  const commands = useCommands();
  const [text, setText] = useState("");
  const hint = useId();
  const off = refusal !== null || commands === null;
  const send = () => {
    if (off || text.trim() === "") return;
    commands.query(text);
    setText("");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <div className={styles.ask}>
      <div className={styles.box}>
        <textarea
          className={styles.text}
          aria-label="Ask the agent"
          aria-describedby={hint}
          placeholder={off ? "" : "Ask the agent"}
          rows={Math.min(mostRows, Math.max(2, text.split("\n").length))}
          value={text}
          readOnly={off}
          aria-disabled={off}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <IconButton label="Send" variant="accent" disabled={off || text.trim() === ""} onClick={send}>
          <SendHorizontal />
        </IconButton>
      </div>
      <p id={hint} className={styles.hint}>
        {refusal ?? (note || "Enter sends, Shift-Enter begins a new line.")}
      </p>
    </div>
  );
}
