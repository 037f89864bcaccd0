import { closeBrackets } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { afterEach, expect, test } from "vitest";
import { typeOverLines } from "./typeOver";

let editorView: EditorView;
afterEach(() => editorView.destroy());

/**
 * Types text over a selection of three lines from anchor to head; returns the resulting text and
 * whether the browser's default was prevented.
 */
function typeOverSelection(data: string, anchor: number, head: number, more: object = {}, readOnly = false) {
  const extensions = [typeOverLines, closeBrackets(), EditorState.readOnly.of(readOnly)];
  const state = EditorState.create({ doc: "one\ntwo\nthree", selection: { anchor, head }, extensions });
  editorView = new EditorView({ state, parent: document.body });
  const event = new InputEvent("beforeinput", { inputType: "insertText", data, cancelable: true, ...more });
  editorView.contentDOM.dispatchEvent(event);
  return { text: editorView.state.doc.toString(), prevented: event.defaultPrevented };
}

test("the editor, not the browser, replaces a selection of several lines", () => {
  expect(typeOverSelection("z", 9, 1)).toEqual({ text: "ozhree", prevented: true });
  expect(editorView.state.selection.main.head).toBe(2);
});

test("a typed bracket encloses the selected lines", () => {
  expect(typeOverSelection("(", 0, 7)).toEqual({ text: "(one\ntwo)\nthree", prevented: true });
});

test.each([
  ["within a line", () => typeOverSelection("z", 0, 3)],
  ["an input method", () => typeOverSelection("z", 0, 9, { inputType: "insertCompositionText" })],
  ["an editor for reading", () => typeOverSelection("z", 0, 9, {}, true)],
])("left alone: %s", (_, run) => {
  expect(run()).toEqual({ text: "one\ntwo\nthree", prevented: false });
});
