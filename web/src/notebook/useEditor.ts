import { useSyncExternalStore } from "react";

type EditorModule = typeof import("./editor");

let editorModule: EditorModule | null = null;
let editorLoadError: string | null = null;
let isEditorLoadStarted = false;
const editorListeners = new Set<() => void>();

/** Loads the editor's code; does nothing if it is loaded or being loaded. */
export function loadEditor(): Promise<void> {
  if (isEditorLoadStarted) return Promise.resolve();
  isEditorLoadStarted = true;
  editorLoadError = null;
  return import("./editor")
    .then((found) => {
      editorModule = found;
    })
    .catch(() => {
      isEditorLoadStarted = false;
      editorLoadError = "The editor could not be loaded.";
    })
    .finally(() => {
      for (const f of [...editorListeners]) f();
    });
}

function subscribeToEditor(f: () => void): () => void {
  editorListeners.add(f);
  loadEditor();
  return () => editorListeners.delete(f);
}

/**
 * Returns the editor module, which needs CodeMirror; starts loading it and returns null until it is
 * loaded.
 */
export function useEditor(): EditorModule | null {
  return useSyncExternalStore(subscribeToEditor, () => editorModule);
}

/** Returns why the editor's code could not be loaded; null if it is loaded or being loaded. */
export function useEditorLoadError(): string | null {
  return useSyncExternalStore(subscribeToEditor, () => editorLoadError);
}
