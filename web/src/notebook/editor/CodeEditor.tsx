import type { Language } from "@codemirror/language";
import { EditorState, Transaction } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "react";
import { changesBetween } from "../changes";
import { type Desk, useDesk, useView } from "../desk";
import { playHeld } from "../press";
import { extensionsOf, languagePart, namePart, naming, readOnlyPart, remote, type Setup } from "./extensions";
import { markHit } from "./hitMark";

interface Props {
  cellId: string;
  /** null: plain text. */
  language: Language | null;
  /** What the editor is called by a screen reader. */
  name: string;
  /** Long lines are wrapped, as those of Markdown. */
  wraps?: boolean;
  readOnly?: boolean;
}

/**
 * The editor of a cell's text. React draws its frame alone: the text goes between
 * the editor and the drafts, and nothing else of the notebook concerns it.
 */
export function CodeEditor({ cellId, language, name, wraps = false, readOnly = false }: Props) {
  const desk = useDesk();
  const frame = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const first = useRef({ language, name, wraps, readOnly });
  // React's strict mode opens the editor twice.
  const focused = useRef(false);

  useLayoutEffect(() => {
    if (frame.current === null) return;
    const view = open(desk, cellId, frame.current, first.current);
    editor.current = view;
    if (focused.current) view.focus();
    const stop = followText(desk, cellId, view);
    return () => {
      stop();
      focused.current = view.hasFocus;
      desk.drafts.memory.set(cellId, view.state);
      view.destroy();
      editor.current = null;
    };
  }, [desk, cellId]);

  useEffect(() => {
    editor.current?.dispatch({ effects: languagePart.reconfigure(language ?? []) });
  }, [language]);
  useEffect(() => {
    editor.current?.dispatch({ effects: namePart.reconfigure(naming(name)) });
  }, [name]);

  useEffect(() => {
    editor.current?.dispatch({ effects: readOnlyPart.reconfigure(EditorState.readOnly.of(readOnly)) });
  }, [readOnly]);

  const focus = useView((state) => (state.editing && state.selected === cellId ? state.focus : 0));
  useLayoutEffect(() => {
    if (editor.current === null || focus === 0 || desk.view.wants !== cellId) return;
    desk.view.wants = null;
    enter(desk, editor.current);
  }, [desk, cellId, focus]);

  const hit = useView((state) => (state.hit?.id === cellId && state.hit.shown === null ? state.hit : null));
  useEffect(() => {
    editor.current?.dispatch({
      effects:
        hit === null ? markHit.of(null) : [markHit.of(hit), EditorView.scrollIntoView(clamp(editor.current, hit.from))],
    });
  }, [hit]);

  return <div ref={frame} />;
}

function open(desk: Desk, id: string, parent: HTMLElement, first: Omit<Setup, "onText">): EditorView {
  const setup = { ...first, onText: (text: string) => desk.drafts.typed(id, text) };
  const kept = desk.drafts.memory.get(id);
  const state =
    kept instanceof EditorState
      ? kept
      : EditorState.create({ doc: desk.drafts.text(id), extensions: extensionsOf(setup) });
  return new EditorView({ state, parent });
}

/** Takes over what others write, by the smallest changes, so that the caret stays; until what it returns is called. */
function followText({ drafts, store }: Desk, id: string, view: EditorView): () => void {
  const take = () => {
    const changes = changesBetween(view.state.doc.toString(), drafts.text(id));
    if (changes.length > 0)
      view.dispatch({ changes, annotations: [remote.of(true), Transaction.addToHistory.of(false)] });
  };
  take();
  let cell = store.get().notebook.cells[id];
  const stops = [
    drafts.subscribe(take),
    store.subscribe(() => {
      const next = store.get().notebook.cells[id];
      if (next === cell || next === undefined) return;
      cell = next;
      take();
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Puts the focus into the editor, the caret where it was asked for, and there what was typed for it meanwhile. */
function enter(desk: Desk, editor: EditorView): void {
  const { view } = desk;
  const { caret } = view;
  view.caret = null;
  editor.focus();
  if (caret !== null) {
    editor.dispatch({ selection: { anchor: clamp(editor, caret.anchor), head: clamp(editor, caret.head) } });
  }
  playHeld(desk, "edit", (text) => {
    editor.dispatch(editor.state.replaceSelection(text), { userEvent: "input.type" });
  });
}

function clamp(editor: EditorView, at: number): number {
  return Math.min(Math.max(at, 0), editor.state.doc.length);
}
