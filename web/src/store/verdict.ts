import { type Fields, isObject, numberOrZero, textOf } from "../json/read";
import type { EvalResult, GraderResult } from "../protocol/messages";

/** The verdict that an eval_result tells, whatever it is made of. */
export function verdictOf(msg: Fields): EvalResult {
  return {
    type: "eval_result",
    case_id: textOf(msg.case_id),
    outcome: textOf(msg.outcome),
    outcome_detail: textOf(msg.outcome_detail),
    passed: flagOf(msg.passed),
    score: typeof msg.score === "number" ? msg.score : null,
    graders: (Array.isArray(msg.graders) ? msg.graders : []).filter(isObject).map(graderOf),
    answer: msg.answer ?? null,
    duration_ms: numberOrZero(msg.duration_ms),
  };
}

function graderOf(grader: Fields): GraderResult {
  return {
    ...grader,
    type: textOf(grader.type),
    passed: flagOf(grader.passed),
    score: typeof grader.score === "number" ? grader.score : null,
    reasoning: textOf(grader.reasoning),
    metrics: isObject(grader.metrics) ? { ...grader.metrics } : {},
    error: errorOf(grader.error),
  };
}

/** An error is {kind, text}, or a text; null: there is none. */
function errorOf(error: unknown): string | null {
  if (!isObject(error)) return typeof error === "string" ? error : null;
  return [textOf(error.kind), textOf(error.text)].filter((part) => part !== "").join(": ") || "of no kind";
}

function flagOf(value: unknown): boolean | null {
  return typeof value === "boolean" ? value : null;
}
