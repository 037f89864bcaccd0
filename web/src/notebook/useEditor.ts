import { useSyncExternalStore } from "react";

type EditorPart = typeof import("./editor");

let part: EditorPart | null = null;
let problem: string | null = null;
let asked = false;
const listeners = new Set<() => void>();

/** Fetches the editor; once it is there, or on its way, nothing more is done. */
export function loadEditor(): Promise<void> {
  if (asked) return Promise.resolve();
  asked = true;
  problem = null;
  return import("./editor")
    .then((found) => {
      part = found;
    })
    .catch(() => {
      asked = false;
      problem = "The editor could not be loaded.";
    })
    .finally(() => {
      for (const f of [...listeners]) f();
    });
}

function subscribe(f: () => void): () => void {
  listeners.add(f);
  loadEditor();
  return () => listeners.delete(f);
}

/** What needs CodeMirror; null until it has been loaded. */
export function useEditor(): EditorPart | null {
  return useSyncExternalStore(subscribe, () => part);
}

/** Why the editor is not there; null: it is, or is being loaded. */
export function useEditorProblem(): string | null {
  return useSyncExternalStore(subscribe, () => problem);
}
