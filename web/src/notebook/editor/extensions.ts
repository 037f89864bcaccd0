// What an editor of a cell is made of.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit, type Language, syntaxHighlighting } from "@codemirror/language";
import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, type KeyBinding, keymap } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { specials } from "../specials";
import { hitMark } from "./hitMark";
import { tabKeys } from "./indent";
import { look } from "./look";
import { typeOver } from "./typeOver";

/** Marks a change that is not of this editor's person: it is not told on, and not undone. */
export const remote = Annotation.define<true>();

/** What may change while an editor is open. */
export const languagePart = new Compartment();
export const namePart = new Compartment();
export const readOnlyPart = new Compartment();

const replaceKeys: readonly KeyBinding[] = [{ key: "Ctrl-h", mac: "Cmd-Alt-f", run: openSearchPanel }];
// The notebook has a search of its own over all cells.
const ownSearchKeys = searchKeymap.filter(({ key }) => key !== "Mod-f");

export interface Setup {
  language: Language | null;
  /** What the editor is called by a screen reader. */
  name: string;
  wraps: boolean;
  readOnly: boolean;
  onText: (text: string) => void;
}

export function extensionsOf({ language, name, wraps, readOnly, onText }: Setup): Extension {
  return [
    history(),
    indentUnit.of("    "),
    EditorState.tabSize.of(4),
    readOnlyPart.of(EditorState.readOnly.of(readOnly)),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightSpecialChars({ specialChars: specials() }),
    syntaxHighlighting(classHighlighter),
    search({ top: true }),
    hitMark,
    typeOver,
    keymap.of([
      ...tabKeys,
      ...replaceKeys,
      ...closeBracketsKeymap,
      ...ownSearchKeys,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    languagePart.of(language ?? []),
    namePart.of(naming(name)),
    wraps ? EditorView.lineWrapping : [],
    look(),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged || update.transactions.every((change) => change.annotation(remote))) return;
      onText(update.state.doc.toString());
    }),
  ];
}

export function naming(name: string): Extension {
  return EditorView.contentAttributes.of({ "aria-label": name });
}
