// The CodeMirror extensions of a cell's editor.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit, type Language, syntaxHighlighting } from "@codemirror/language";
import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, type KeyBinding, keymap } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { specialCharacterPattern } from "../specialCharacters";
import { editorTheme } from "./editorTheme";
import { tabKeys } from "./indent";
import { searchHitField } from "./searchHit";
import { typeOverLines } from "./typeOver";

/**
 * Marks an editor change that was not made by this editor's user: it is not sent to the server and
 * cannot be undone.
 */
export const remoteChange = Annotation.define<true>();

/** Holds the editor's language, which can change while the editor is open. */
export const languageCompartment = new Compartment();
export const nameCompartment = new Compartment();
export const readOnlyCompartment = new Compartment();

const replaceKeys: readonly KeyBinding[] = [{ key: "Ctrl-h", mac: "Cmd-Alt-f", run: openSearchPanel }];
// Mod-f is the notebook's search over all cells.
const ownSearchKeys = searchKeymap.filter(({ key }) => key !== "Mod-f");

export interface EditorSetup {
  language: Language | null;
  /** Accessible name of the editor. */
  name: string;
  wraps: boolean;
  readOnly: boolean;
  onText: (text: string) => void;
}

export function extensionsOf({ language, name, wraps, readOnly, onText }: EditorSetup): Extension {
  return [
    history(),
    indentUnit.of("    "),
    EditorState.tabSize.of(4),
    readOnlyCompartment.of(EditorState.readOnly.of(readOnly)),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightSpecialChars({ specialChars: specialCharacterPattern() }),
    syntaxHighlighting(classHighlighter),
    search({ top: true }),
    searchHitField,
    typeOverLines,
    keymap.of([
      ...tabKeys,
      ...replaceKeys,
      ...closeBracketsKeymap,
      ...ownSearchKeys,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    languageCompartment.of(language ?? []),
    nameCompartment.of(ariaLabel(name)),
    wraps ? EditorView.lineWrapping : [],
    editorTheme(),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged || update.transactions.every((change) => change.annotation(remoteChange))) return;
      onText(update.state.doc.toString());
    }),
  ];
}

export function ariaLabel(name: string): Extension {
  return EditorView.contentAttributes.of({ "aria-label": name });
}
