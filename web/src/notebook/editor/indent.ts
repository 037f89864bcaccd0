import { indentLess, indentMore } from "@codemirror/commands";
import { getIndentUnit } from "@codemirror/language";
import { EditorSelection } from "@codemirror/state";
import type { Command, KeyBinding } from "@codemirror/view";

/**
 * The command of the Tab key: indents the selected lines; without a selection, inserts spaces up to
 * the next multiple of the indent unit.
 */
const indentCommand: Command = (view) => {
  const { state } = view;
  if (state.selection.ranges.some((range) => !range.empty)) return indentMore(view);
  const unit = getIndentUnit(state);
  const change = state.changeByRange(({ head }) => {
    const column = head - state.doc.lineAt(head).from;
    const insert = " ".repeat(unit - (column % unit));
    return { changes: { from: head, insert }, range: EditorSelection.cursor(head + insert.length) };
  });
  view.dispatch(state.update(change, { scrollIntoView: true, userEvent: "input.indent" }));
  return true;
};

export const tabKeys: readonly KeyBinding[] = [{ key: "Tab", run: indentCommand, shift: indentLess }];
