import { closeBrackets } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { afterEach, expect, test } from "vitest";
import { typeOverLines } from "./typeOver";

let view: EditorView;
afterEach(() => view.destroy());

/** What is left of three lines when text is typed over those from anchor to head, and whether the browser was kept from it. */
function typed(data: string, anchor: number, head: number, more: object = {}, readOnly = false) {
  const extensions = [typeOverLines, closeBrackets(), EditorState.readOnly.of(readOnly)];
  const state = EditorState.create({ doc: "one\ntwo\nthree", selection: { anchor, head }, extensions });
  view = new EditorView({ state, parent: document.body });
  const event = new InputEvent("beforeinput", { inputType: "insertText", data, cancelable: true, ...more });
  view.contentDOM.dispatchEvent(event);
  return { text: view.state.doc.toString(), prevented: event.defaultPrevented };
}

test("lines are typed over by the editor, not by the browser", () => {
  expect(typed("z", 9, 1)).toEqual({ text: "ozhree", prevented: true });
  expect(view.state.selection.main.head).toBe(2);
});

test("a bracket goes around them", () => {
  expect(typed("(", 0, 7)).toEqual({ text: "(one\ntwo)\nthree", prevented: true });
});

test.each([
  ["within a line", () => typed("z", 0, 3)],
  ["an input method", () => typed("z", 0, 9, { inputType: "insertCompositionText" })],
  ["an editor for reading", () => typed("z", 0, 9, {}, true)],
])("left alone: %s", (_, run) => {
  expect(run()).toEqual({ text: "one\ntwo\nthree", prevented: false });
});
