import { textOrJSON } from "../json/values";
import { Markdown } from "../outputs/Markdown";
import { oneLine, showInvisible } from "../text/displayText";
import styles from "./ChatMessage.module.css";
import { Collapsible } from "./Collapsible";
import { LongText } from "./LongText";

interface Props {
  role: "user" | "assistant";
  text: string;
  label?: string | undefined;
  open: boolean;
  onToggle: () => void;
}

/**
 * Messages with more characters than this are shown as plain text, because rendering them as
 * Markdown takes too long.
 */
const maxMarkdownChars = 40_000;
/**
 * A user message is collapsed beyond this many characters or lines: a task can come with pages of
 * rules.
 */
const maxUserMessageChars = 400;
const maxUserMessageLines = 6;

/** A message of the user, shown as plain text, or of the agent, shown as Markdown. */
export function ChatMessage({ role, text, label, open, onToggle }: Props) {
  const shownText = showInvisible(textOrJSON(text));
  const isUser = role === "user";
  const isLong =
    isUser &&
    (shownText.length > maxUserMessageChars ||
      shownText.split("\n", maxUserMessageLines + 1).length > maxUserMessageLines);
  const heading = oneLine(textOrJSON(label), 60);
  return (
    <article className={isUser ? styles.user : styles.assistant} aria-label={isUser ? "User" : "Agent"}>
      {heading !== "" && <div className={styles.who}>{heading}</div>}
      <div className={isUser ? styles.bubble : undefined}>
        <div className={isLong && !open ? styles.folded : styles.text}>
          <MessageText text={shownText} isUser={isUser} />
        </div>
        {isLong && (
          <button type="button" className={styles.more} aria-expanded={open} onClick={onToggle}>
            {open ? "Show less" : "Show all"}
          </button>
        )}
      </div>
    </article>
  );
}

function MessageText({ text, isUser }: { text: string; isUser: boolean }) {
  if (text.length > maxMarkdownChars) return <LongText text={text} />;
  return isUser ? <p className={styles.asked}>{text}</p> : <Markdown source={text} />;
}

/** The agent's reasoning, collapsed to its first words. */
export function AgentReasoning({ text, open, onToggle }: { text: string; open: boolean; onToggle: () => void }) {
  const thought = textOrJSON(text);
  return (
    <Collapsible
      name="Thinking"
      summaryStyle="prose"
      summary={open ? "" : oneLine(thought)}
      open={open}
      onToggle={onToggle}
    >
      <LongText text={thought} />
    </Collapsible>
  );
}
