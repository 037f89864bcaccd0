import { readTab, removeTab, writeTab } from "../browser/tabStorage";
import { isObject, isTexts } from "../json/read";
import type { SavedEdit } from "./edits";

const keyOf = (session: string) => `assay.edits.${session}`;

/** Keeps what was typed and could not be stored, while the page is loaded again. false: there is no room, or the browser forbids it. */
export function saveEdits(session: string, edits: readonly SavedEdit[]): boolean {
  if (edits.length > 0) return writeTab(keyOf(session), JSON.stringify(edits));
  removeTab(keyOf(session));
  return true;
}

/** Takes back what was kept. */
export function loadEdits(session: string): SavedEdit[] {
  const kept = readTab(keyOf(session)) ?? "[]";
  removeTab(keyOf(session));
  try {
    const edits: unknown = JSON.parse(kept);
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
