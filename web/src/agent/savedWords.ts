import { readTab, removeTab, writeTab } from "../browser/tabStorage";
import { isObject } from "../json/read";
import type { Message } from "../protocol/messages";

const keyOf = (session: string) => `assay.asked.${session}`;

/** Keeps the questions of which nothing shows that they have come, while the page is loaded again. */
export function saveWords(session: string, questions: readonly Message[]): void {
  if (questions.length === 0) removeTab(keyOf(session));
  else writeTab(keyOf(session), JSON.stringify(questions));
}

/** Takes back what was kept. */
export function loadWords(session: string): Message[] {
  const kept = readTab(keyOf(session)) ?? "[]";
  removeTab(keyOf(session));
  try {
    const questions: unknown = JSON.parse(kept);
    return Array.isArray(questions) ? questions.filter(isQuestion) : [];
  } catch {
    return [];
  }
}

function isQuestion(value: unknown): value is Message {
  return (
    isObject(value) &&
    value.type === "agent_query" &&
    typeof value.query === "string" &&
    typeof value.request_id === "string"
  );
}
