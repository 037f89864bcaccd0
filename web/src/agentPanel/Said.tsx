import { textOrJSON } from "../json/values";
import { Markdown } from "../outputs/Markdown";
import { oneLine, showInvisible } from "../text/displayText";
import { LongText } from "./LongText";
import styles from "./Said.module.css";

interface Props {
  role: "user" | "assistant";
  text: string;
  label?: string | undefined;
  open: boolean;
  onToggle: () => void;
}

/** Beyond this many characters a text is shown as it is: Markdown of it would take too long. */
const longestMarkdown = 40_000;
/** What is asked is folded beyond this many characters or lines: a task comes with pages of rules. */
const longestAsked = 400;
const mostLinesAsked = 6;

/** A message of the person or of the agent. What was asked is data, in which nothing is markup. */
export function Said({ role, text, label, open, onToggle }: Props) {
  const said = showInvisible(textOrJSON(text));
  const asked = role === "user";
  const long = asked && (said.length > longestAsked || said.split("\n", mostLinesAsked + 1).length > mostLinesAsked);
  const named = oneLine(textOrJSON(label), 60);
  return (
    <article className={asked ? styles.user : styles.assistant} aria-label={asked ? "Asked" : "Agent"}>
      {named !== "" && <div className={styles.who}>{named}</div>}
      <div className={asked ? styles.bubble : undefined}>
        <div className={long && !open ? styles.folded : styles.text}>
          <Words text={said} asked={asked} />
        </div>
        {long && (
          <button type="button" className={styles.more} aria-expanded={open} onClick={onToggle}>
            {open ? "Show less" : "Show all"}
          </button>
        )}
      </div>
    </article>
  );
}

function Words({ text, asked }: { text: string; asked: boolean }) {
  if (text.length > longestMarkdown) return <LongText text={text} />;
  return asked ? <p className={styles.asked}>{text}</p> : <Markdown source={text} />;
}
