import { useSyncExternalStore } from "react";

type EditorModule = typeof import("./editor");

let editorModule: EditorModule | null = null;
let loadProblem: string | null = null;
let isLoadStarted = false;
const listeners = new Set<() => void>();

/** Loads the editor; does nothing if it is loaded or being loaded. */
export function loadEditor(): Promise<void> {
  if (isLoadStarted) return Promise.resolve();
  isLoadStarted = true;
  loadProblem = null;
  return import("./editor")
    .then((found) => {
      editorModule = found;
    })
    .catch(() => {
      isLoadStarted = false;
      loadProblem = "The editor could not be loaded.";
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

/** Returns the module that needs CodeMirror; null until it is loaded. Starts loading it. */
export function useEditor(): EditorModule | null {
  return useSyncExternalStore(subscribe, () => editorModule);
}

/** Returns why the editor could not be loaded; null: it is loaded or being loaded. */
export function useEditorProblem(): string | null {
  return useSyncExternalStore(subscribe, () => loadProblem);
}
