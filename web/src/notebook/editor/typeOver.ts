import { EditorView } from "@codemirror/view";

/**
 * Handles typing over a selection of several lines. A browser would join the lines with style
 * attributes, which the page's Content-Security-Policy forbids.
 */
export const typeOverLines = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { state } = view;
    const { from, to } = state.selection.main;
    const text = event.data;
    if (event.inputType !== "insertText" || text === null || text === "" || event.isComposing) return false;
    if (state.readOnly || state.doc.lineAt(from).to >= to) return false;
    const insert = () => state.update(state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    const handled = state.facet(EditorView.inputHandler).some((handler) => handler(view, from, to, text, insert));
    if (!handled) view.dispatch(insert());
    return true;
  },
});
