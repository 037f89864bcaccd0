import { useMemo } from "react";
import { useCommands } from "../commands/commands";
import { Button } from "../ui/Button";
import styles from "./Code.module.css";
import type { Token } from "./editor/tokens";
import { useCellText, useNotebookContext, useViewState } from "./notebookContext";
import { StaticCode } from "./StaticCode";
import { openCellEditor } from "./selection";
import { loadEditor, useEditor, useEditorLoadError } from "./useEditor";

/**
 * Texts with more characters than this are always shown in the editor, because it draws only the
 * visible part.
 */
const maxStaticChars = 10_000;

interface Props {
  cellId: string;
  /** The kernel's language name; "markdown" for Markdown cells. */
  language: string;
  /** Accessible name of the text. */
  name: string;
}

/** The text of a code cell: an editor once the user has opened it, else static highlighted code. */
export function CodeBody({ cellId, language, name }: Props) {
  const editorModule = useEditor();
  const problem = useEditorLoadError();
  const needsEditor = useViewState(
    ({ cellsWithEditor, editing, selected }) => cellsWithEditor.has(cellId) || (editing && selected === cellId),
  );
  return (
    <div className={styles.code}>
      {editorModule === null ? (
        <StaticCellCode cellId={cellId} tokensOf={null} />
      ) : (
        <EditableCode
          cellId={cellId}
          language={language}
          name={name}
          editorModule={editorModule}
          hasEditor={needsEditor}
        />
      )}
      {problem !== null && needsEditor && (
        <div className={styles.problem} role="alert">
          {problem} <Button onClick={loadEditor}>Try again</Button>
        </div>
      )}
    </div>
  );
}

interface EditableCodeProps extends Props {
  editorModule: typeof import("./editor");
  hasEditor: boolean;
}

function EditableCode({ cellId, language, name, editorModule, hasEditor }: EditableCodeProps) {
  const found = editorModule.useLanguage(language);
  const readOnly = useCommands() === null;
  const huge = useCellText(cellId, isTooLongForStatic);
  const tokensOf = useMemo(() => (text: string) => editorModule.tokensOf(text, found), [editorModule, found]);
  if (!huge && (!hasEditor || readOnly)) return <StaticCellCode cellId={cellId} tokensOf={tokensOf} />;
  const wraps = language === "markdown";
  return <editorModule.CodeEditor cellId={cellId} language={found} name={name} wraps={wraps} readOnly={readOnly} />;
}

function StaticCellCode({ cellId, tokensOf }: { cellId: string; tokensOf: ((text: string) => Token[]) | null }) {
  const context = useNotebookContext();
  const text = useCellText(cellId, identityOfText);
  const canEdit = useCommands() !== null;
  const hit = useViewState((state) =>
    state.searchHit?.id === cellId && state.searchHit.inOutputs === null ? state.searchHit : null,
  );
  const tokens = useMemo(() => (tokensOf === null ? null : tokensOf(text)), [tokensOf, text]);
  const pick = useMemo(
    () => (canEdit ? (anchor: number, head: number) => openCellEditor(context, cellId, { anchor, head }) : undefined),
    [context, cellId, canEdit],
  );
  return <StaticCode text={text} tokens={tokens} hit={hit} onSelectRange={pick} />;
}

function identityOfText(text: string): string {
  return text;
}

function isTooLongForStatic(text: string): boolean {
  return text.length > maxStaticChars;
}
