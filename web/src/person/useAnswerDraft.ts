import type { CurrentAttempt } from "../agentPanel/attempt";
import { useStored } from "../browser/useStored";
import { isObject } from "../json/values";
import { type AnswerFormat, formatOf } from "./answer";

/** An answer that is being typed. */
interface AnswerDraft {
  /** The attempt that it is for. */
  attempt: string;
  text: string;
  format: AnswerFormat;
}

/** Returns a text that identifies an attempt in its session. */
export function attemptKey({ caseId, started }: CurrentAttempt): string {
  return `${caseId} ${started}`;
}

/**
 * The answer that is being typed in an attempt. The browser keeps it, so that a reload of the page, or a tab
 * that is opened later, shows it. The component must be remounted for another attempt.
 */
export function useAnswerDraft(session: string, attempt: CurrentAttempt) {
  const key = attemptKey(attempt);
  const isDraftOfAttempt = (value: unknown): value is AnswerDraft =>
    isObject(value) &&
    value.attempt === key &&
    typeof value.text === "string" &&
    (value.format === "json" || value.format === "text");
  const empty: AnswerDraft = { attempt: key, text: "", format: formatOf(attempt.task) };
  const [draft, setDraft] = useStored(`answer.${session}`, empty, isDraftOfAttempt);
  return {
    text: draft.text,
    format: draft.format,
    setText: (text: string) => setDraft({ ...draft, text }),
    setFormat: (format: AnswerFormat) => setDraft({ ...draft, format }),
  };
}
