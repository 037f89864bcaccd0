import { useMemo } from "react";
import { useCommands } from "../commands/commands";
import { Button } from "../ui/Button";
import styles from "./Code.module.css";
import { useDesk, useText, useView } from "./desk";
import type { Token } from "./editor/tokens";
import { StaticCode } from "./StaticCode";
import { edit } from "./select";
import { loadEditor, useEditor, useEditorProblem } from "./useEditor";

/** Above so many characters the text is shown by an editor, which draws only what is on the screen. */
const maxStatic = 10_000;

interface Props {
  cellId: string;
  /** As kernels call it; "markdown" for text that is not code. */
  language: string;
  /** What the text is called by a screen reader. */
  name: string;
}

/** The text of a cell: an editor where a person has been, else the same only shown. */
export function CodeBody({ cellId, language, name }: Props) {
  const part = useEditor();
  const problem = useEditorProblem();
  const wanted = useView(({ live, editing, selected }) => live.has(cellId) || (editing && selected === cellId));
  return (
    <div className={styles.code}>
      {part === null ? (
        <Shown cellId={cellId} tokensOf={null} />
      ) : (
        <Loaded cellId={cellId} language={language} name={name} part={part} live={wanted} />
      )}
      {problem !== null && wanted && (
        <div className={styles.problem} role="alert">
          {problem} <Button onClick={loadEditor}>Try again</Button>
        </div>
      )}
    </div>
  );
}

interface LoadedProps extends Props {
  part: typeof import("./editor");
  live: boolean;
}

function Loaded({ cellId, language, name, part, live }: LoadedProps) {
  const found = part.useLanguage(language);
  const readOnly = useCommands() === null;
  const huge = useText(cellId, isHuge);
  const tokensOf = useMemo(() => (text: string) => part.tokensOf(text, found), [part, found]);
  if (!huge && (!live || readOnly)) return <Shown cellId={cellId} tokensOf={tokensOf} />;
  const wraps = language === "markdown";
  return <part.CodeEditor cellId={cellId} language={found} name={name} wraps={wraps} readOnly={readOnly} />;
}

function Shown({ cellId, tokensOf }: { cellId: string; tokensOf: ((text: string) => Token[]) | null }) {
  const desk = useDesk();
  const text = useText(cellId, whole);
  const writes = useCommands() !== null;
  const hit = useView((state) => (state.hit?.id === cellId && state.hit.shown === null ? state.hit : null));
  const tokens = useMemo(() => (tokensOf === null ? null : tokensOf(text)), [tokensOf, text]);
  const pick = useMemo(
    () => (writes ? (anchor: number, head: number) => edit(desk, cellId, { anchor, head }) : undefined),
    [desk, cellId, writes],
  );
  return <StaticCode text={text} tokens={tokens} hit={hit} onPick={pick} />;
}

function whole(text: string): string {
  return text;
}

function isHuge(text: string): boolean {
  return text.length > maxStatic;
}
