import { useCommands } from "../commands/commands";
import { Markdown } from "../outputs/Markdown";
import styles from "./Cell.module.css";
import { CodeBody } from "./CodeBody";
import { useCellText, useNotebookContext, useViewState } from "./notebookContext";
import { openCellEditor } from "./selection";

/** The text of a Markdown cell: rendered, or in an editor while the user edits it. */
export function MarkdownBody({ cellId, name }: { cellId: string; name: string }) {
  const context = useNotebookContext();
  const editing = useViewState((state) => state.editing && state.selected === cellId);
  const canEdit = useCommands() !== null;
  if (editing) return <CodeBody cellId={cellId} language="markdown" name={name} />;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Enter on the cell does the same
    <div className={styles.markdown} onDoubleClick={canEdit ? () => openCellEditor(context, cellId) : undefined}>
      <RenderedMarkdown cellId={cellId} />
    </div>
  );
}

function RenderedMarkdown({ cellId }: { cellId: string }) {
  const source = useCellText(cellId, identityOfText);
  const canEdit = useCommands() !== null;
  if (source.trim() !== "") return <Markdown source={source} />;
  return <p className={styles.empty}>{canEdit ? "Empty text. Press Enter or double-click to edit." : "Empty text."}</p>;
}

function identityOfText(text: string): string {
  return text;
}
