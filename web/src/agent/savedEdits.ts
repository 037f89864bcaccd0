import { isObject, isTexts } from "../store/read";
import type { SavedEdit } from "./edits";

const keyOf = (session: string) => `assay.edits.${session}`;

/** Keeps what was typed and could not be stored, while the page is loaded again. */
export function saveEdits(session: string, edits: readonly SavedEdit[]): void {
  try {
    if (edits.length === 0) sessionStorage.removeItem(keyOf(session));
    else sessionStorage.setItem(keyOf(session), JSON.stringify(edits));
  } catch {
    console.warn("What was typed last cannot be kept: there is no room, or the browser forbids it.");
  }
}

/** Takes back what was kept. */
export function loadEdits(session: string): SavedEdit[] {
  try {
    const edits: unknown = JSON.parse(sessionStorage.getItem(keyOf(session)) ?? "[]");
    sessionStorage.removeItem(keyOf(session));
    return Array.isArray(edits) ? edits.filter(isSaved) : [];
  } catch {
    return [];
  }
}

function isSaved(edit: unknown): edit is SavedEdit {
  if (!isObject(edit) || !isObject(edit.base)) return false;
  if (edit.sent !== undefined && !isTexts(edit.sent)) return false;
  return (
    typeof edit.id === "string" &&
    typeof edit.text === "string" &&
    typeof edit.base.source === "string" &&
    typeof edit.base.rev === "number"
  );
}
