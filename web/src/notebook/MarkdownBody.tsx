import { useCommands } from "../commands/commands";
import { Markdown } from "../outputs/Markdown";
import styles from "./Cell.module.css";
import { CodeBody } from "./CodeBody";
import { useDesk, useText, useView } from "./desk";
import { edit } from "./select";

/** The text of a Markdown cell: drawn, unless it is being edited. */
export function MarkdownBody({ cellId, name }: { cellId: string; name: string }) {
  const desk = useDesk();
  const editing = useView((state) => state.editing && state.selected === cellId);
  const writes = useCommands() !== null;
  if (editing) return <CodeBody cellId={cellId} language="markdown" name={name} />;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Enter on the cell does the same
    <div className={styles.markdown} onDoubleClick={writes ? () => edit(desk, cellId) : undefined}>
      <Drawn cellId={cellId} />
    </div>
  );
}

function Drawn({ cellId }: { cellId: string }) {
  const source = useText(cellId, whole);
  const writes = useCommands() !== null;
  if (source.trim() !== "") return <Markdown source={source} />;
  return <p className={styles.empty}>{writes ? "Empty text. Press Enter or double-click to write." : "Empty text."}</p>;
}

function whole(text: string): string {
  return text;
}
