import type { Language } from "@codemirror/language";
import { EditorState, Transaction } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "react";
import { replayBufferedKeys } from "../executeShortcut";
import { type NotebookContext, useNotebookContext, useViewState } from "../notebookContext";
import { changesBetween } from "../textChanges";
import {
  ariaLabel,
  type EditorSetup,
  extensionsOf,
  languageCompartment,
  nameCompartment,
  readOnlyCompartment,
  remoteChange,
} from "./extensions";
import { setSearchHit } from "./searchHit";

interface Props {
  cellId: string;
  /** null: plain text. */
  language: Language | null;
  /** Accessible name of the editor. */
  name: string;
  /** Wraps long lines, as in Markdown. */
  wraps?: boolean;
  readOnly?: boolean;
}

/**
 * The editor of a cell's text. React renders only its frame; CodeMirror's text is synchronised with
 * the cell's draft.
 */
export function CodeEditor({ cellId, language, name, wraps = false, readOnly = false }: Props) {
  const context = useNotebookContext();
  const container = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const initialSetup = useRef({ language, name, wraps, readOnly });
  // Strict mode opens the editor twice; this remembers whether the first one had the focus.
  const focused = useRef(false);

  useLayoutEffect(() => {
    if (container.current === null) return;
    const view = createCellEditor(context, cellId, container.current, initialSetup.current);
    editor.current = view;
    if (focused.current) view.focus();
    const stop = followText(context, cellId, view);
    return () => {
      stop();
      focused.current = view.hasFocus;
      context.drafts.editorStates.set(cellId, view.state);
      view.destroy();
      editor.current = null;
    };
  }, [context, cellId]);

  useEffect(() => {
    editor.current?.dispatch({ effects: languageCompartment.reconfigure(language ?? []) });
  }, [language]);
  useEffect(() => {
    editor.current?.dispatch({ effects: nameCompartment.reconfigure(ariaLabel(name)) });
  }, [name]);

  useEffect(() => {
    editor.current?.dispatch({ effects: readOnlyCompartment.reconfigure(EditorState.readOnly.of(readOnly)) });
  }, [readOnly]);

  const focus = useViewState((state) => (state.editing && state.selected === cellId ? state.focusRequests : 0));
  useLayoutEffect(() => {
    if (editor.current === null || focus === 0 || context.view.pendingFocus !== cellId) return;
    context.view.pendingFocus = null;
    focusEditor(context, editor.current);
  }, [context, cellId, focus]);

  const hit = useViewState((state) =>
    state.searchHit?.id === cellId && state.searchHit.inOutputs === null ? state.searchHit : null,
  );
  useEffect(() => {
    editor.current?.dispatch({
      effects:
        hit === null
          ? setSearchHit.of(null)
          : [setSearchHit.of(hit), EditorView.scrollIntoView(clampOffset(editor.current, hit.from))],
    });
  }, [hit]);

  return <div ref={container} />;
}

function createCellEditor(
  context: NotebookContext,
  id: string,
  parent: HTMLElement,
  first: Omit<EditorSetup, "onText">,
): EditorView {
  const setup = { ...first, onText: (text: string) => context.drafts.recordEdit(id, text) };
  const kept = context.drafts.editorStates.get(id);
  const state =
    kept instanceof EditorState
      ? kept
      : EditorState.create({ doc: context.drafts.text(id), extensions: extensionsOf(setup) });
  return new EditorView({ state, parent });
}

/**
 * Applies other users' edits of a cell to its editor as minimal changes, so that the caret stays in
 * place. Stops when the returned function is called.
 */
function followText({ drafts, store }: NotebookContext, id: string, view: EditorView): () => void {
  const applyChanges = () => {
    const changes = changesBetween(view.state.doc.toString(), drafts.text(id));
    if (changes.length > 0)
      view.dispatch({ changes, annotations: [remoteChange.of(true), Transaction.addToHistory.of(false)] });
  };
  applyChanges();
  let cell = store.get().notebook.cells[id];
  const stops = [
    drafts.subscribe(applyChanges),
    store.subscribe(() => {
      const next = store.get().notebook.cells[id];
      if (next === cell || next === undefined) return;
      cell = next;
      applyChanges();
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Focuses an editor, sets the requested selection, and types the text that was buffered for it. */
function focusEditor(context: NotebookContext, editor: EditorView): void {
  const { view } = context;
  const { pendingCaret } = view;
  view.pendingCaret = null;
  editor.focus();
  if (pendingCaret !== null) {
    editor.dispatch({
      selection: { anchor: clampOffset(editor, pendingCaret.anchor), head: clampOffset(editor, pendingCaret.head) },
    });
  }
  replayBufferedKeys(context, "edit", (text) => {
    editor.dispatch(editor.state.replaceSelection(text), { userEvent: "input.type" });
  });
}

function clampOffset(editor: EditorView, at: number): number {
  return Math.min(Math.max(at, 0), editor.state.doc.length);
}
