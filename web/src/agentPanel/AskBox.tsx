import SendHorizontal from "lucide-react/icons/send-horizontal";
import { type KeyboardEvent, useId, useState } from "react";
import { useCommands } from "../commands/commands";
import { IconButton } from "../ui/Button";
import styles from "./AskBox.module.css";

interface Props {
  /** Why nothing can be sent; null if it can. */
  refusal: string | null;
  /** A hint shown instead of the keyboard help; "" for none. */
  note: string;
}

const maxRows = 8;

/** A box for messages to the agent. Enter sends the message, Shift-Enter adds a line. */
export function AskBox({ refusal, note }: Props) {
  const commands = useCommands();
  const [text, setText] = useState("");
  const hintId = useId();
  const disabled = refusal !== null || commands === null;
  const send = () => {
    if (disabled || text.trim() === "") return;
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
          aria-describedby={hintId}
          placeholder={disabled ? "" : "Ask the agent"}
          rows={Math.min(maxRows, Math.max(2, text.split("\n").length))}
          value={text}
          readOnly={disabled}
          aria-disabled={disabled}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <IconButton label="Send" variant="accent" disabled={disabled || text.trim() === ""} onClick={send}>
          <SendHorizontal />
        </IconButton>
      </div>
      <p id={hintId} className={styles.hint}>
        {refusal ?? (note || "Enter sends, Shift-Enter adds a line.")}
      </p>
    </div>
  );
}
