import { type KeyboardEvent, useId, useState } from "react";
import type { CurrentAttempt } from "../agentPanel/attempt";
import { useCommands } from "../commands/commands";
import { useSelect } from "../store/store";
import { oneLine } from "../text/displayText";
import { Button } from "../ui/Button";
import { ConfirmDialog } from "../ui/ConfirmDialog";
import styles from "./AnswerForm.module.css";
import { type AnswerFormat, answerFormOf, checkAnswer } from "./answer";
import { useAnswerDraft } from "./useAnswerDraft";

interface Props {
  session: string;
  attempt: CurrentAttempt;
  /** Why nothing can be submitted; null if it can. */
  refusal: string | null;
}

const maxRows = 10;

/** A form for the person's answer, with buttons to submit it and to give up. */
export function AnswerForm({ session, attempt, refusal }: Props) {
  const commands = useCommands();
  const { text, format, setText, setFormat } = useAnswerDraft(session, attempt);
  const [problem, setProblem] = useState("");
  const [asking, setAsking] = useState<"submit" | "give up" | null>(null);
  const isRunning = useSelect(({ notebook: { order, executions } }) =>
    order.some((id) => executions[id]?.status === "running"),
  );
  const problemId = useId();
  const hintId = useId();
  const answer = checkAnswer(text, format);
  const why = refusal ?? (isRunning ? "A cell is still running: wait until it ends, or stop it." : null);
  const change = (changed: () => void) => {
    setProblem("");
    changed();
  };
  const check = () => {
    if ("problem" in answer) setProblem(answer.problem);
    else if (why === null) setAsking("submit");
  };
  const submit = () => {
    if ("json" in answer)
      void commands?.submitAnswer(answer.json).catch((error: Error) => setProblem(failureText(error)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.nativeEvent.isComposing) return;
    event.preventDefault();
    check();
  };
  return (
    <form className={styles.form} aria-label="Your answer" onSubmit={(event) => event.preventDefault()}>
      <div className={styles.head}>
        <h3 className={styles.title}>Your answer</h3>
        <FormatChoice format={format} onChange={(next) => change(() => setFormat(next))} />
      </div>
      <textarea
        className={format === "json" ? styles.json : styles.text}
        aria-label="Answer"
        aria-describedby={problem === "" ? hintId : problemId}
        aria-invalid={problem !== ""}
        placeholder={format === "json" ? answerFormOf(attempt.task) : ""}
        rows={Math.min(maxRows, Math.max(3, text.split("\n").length))}
        spellCheck={format === "text"}
        value={text}
        onChange={({ target }) => change(() => setText(target.value))}
        onKeyDown={onKeyDown}
        onBlur={() => text.trim() !== "" && "problem" in answer && setProblem(answer.problem)}
      />
      {problem !== "" && (
        <p id={problemId} className={styles.problem} role="alert">
          {problem}
        </p>
      )}
      <p id={hintId} className={styles.hint}>
        {why ?? hintOfFormat[format]}
      </p>
      <div className={styles.buttons}>
        <Button variant="danger" disabled={refusal !== null} onClick={() => setAsking("give up")}>
          Give up…
        </Button>
        <Button variant="accent" disabled={why !== null} onClick={check}>
          Submit…
        </Button>
      </div>
      {asking === "submit" && "json" in answer && (
        <ConfirmDialog
          title="Submit the answer"
          text={`The notebook and this answer are graded as they are now, and cannot be changed any more: ${oneLine(answer.json, 500)}`}
          confirmLabel="Submit"
          onConfirm={submit}
          onClose={() => setAsking(null)}
        />
      )}
      {asking === "give up" && (
        <ConfirmDialog
          title="Give up"
          text="The attempt ends without an answer. The notebook is still graded if the case checks it."
          confirmLabel="Give up"
          onConfirm={() => commands?.cancel()}
          onClose={() => setAsking(null)}
        />
      )}
    </form>
  );
}

const hintOfFormat: Readonly<Record<AnswerFormat, string>> = {
  json: "Only the JSON: tags are added. Ctrl-Enter submits.",
  text: "The text is submitted as a JSON string. Ctrl-Enter submits.",
};

function FormatChoice({ format, onChange }: { format: AnswerFormat; onChange: (format: AnswerFormat) => void }) {
  const name = useId();
  return (
    <span className={styles.formats} role="radiogroup" aria-label="Format">
      {(["json", "text"] as const).map((option) => (
        <label key={option}>
          <input type="radio" name={name} checked={format === option} onChange={() => onChange(option)} />
          {option === "json" ? "JSON" : "Text"}
        </label>
      ))}
    </span>
  );
}

function failureText({ message }: Error): string {
  return `The answer was not submitted: ${message.replace(/\.?$/, ".")}`;
}
