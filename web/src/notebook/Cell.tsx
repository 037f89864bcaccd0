import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useCommands } from "../commands/commands";
import { useSelect } from "../store/store";
import { Button } from "../ui/Button";
import { lazyPart } from "../ui/lazyPart";
import { AgentMark } from "./AgentMark";
import styles from "./Cell.module.css";
import { CodeBody } from "./CodeBody";
import { ConflictBar } from "./ConflictBar";
import { cellOf, executionOf, isMarkdown, titleOf } from "./cellSelectors";
import { replayBufferedKeys } from "./executeShortcut";
import { Gutter } from "./Gutter";
import { useNotebookContext, useViewState } from "./notebookContext";
import { PartErrorBoundary } from "./PartErrorBoundary";
import { toggleOutputs } from "./shortcuts";
import { Toolbar } from "./Toolbar";

// Loaded lazily: the cells themselves are on screen earlier.
const LazyCellOutputs = lazyPart(async () => (await import("../widgets/CellOutputs")).CellOutputs);
const LazyWidgets = lazyPart(async () => (await import("../widgets/LiveWidgets")).LiveWidgets);
const MarkdownBody = lazyPart(async () => (await import("./MarkdownBody")).MarkdownBody);

interface Props {
  cellId: string;
  /** The cell's position, from 0. */
  index: number;
  /** Number of all cells. */
  count: number;
  language: string;
}

/** Maximum number of characters of a cell's title that are shown. */
const maxTitleChars = 200;

/** One cell as an item of the list. It re-renders only when its own state changes. */
export const Cell = memo(function Cell({ cellId, index, count, language }: Props) {
  const context = useNotebookContext();
  const { view } = context;
  const code = useSelect((state) => !isMarkdown(state, cellId));
  const title = useSelect((state) => titleOf(state, cellId).slice(0, maxTitleChars));
  const byAgent = useSelect((state) => cellOf(state, cellId)?.lastChange?.by === "agent");
  const selected = useViewState((state) => state.selected === cellId);
  const tabbable = useViewState((state) => state.selected === cellId || (state.selected === null && index === 0));
  const editing = useViewState((state) => state.editing && state.selected === cellId);
  const hovered = useViewState((state) => state.hovered === cellId);
  const isOtherHovered = useViewState((state) => state.hovered !== null && state.hovered !== cellId);
  const canEdit = useCommands() !== null;
  const element = useRef<HTMLDivElement>(null);
  const clearHover = useCallback(() => {
    if (view.get().hovered === cellId) view.set({ hovered: null });
  }, [view, cellId]);
  useEffect(() => clearHover, [clearHover]);

  const focus = useViewState((state) => (state.selected === cellId && !state.editing ? state.focusRequests : 0));
  useLayoutEffect(() => {
    if (focus === 0 || view.pendingFocus !== cellId) return;
    view.pendingFocus = null;
    element.current?.focus({ preventScroll: true });
    replayBufferedKeys(context, "command", () => {});
  }, [context, view, cellId, focus]);

  const name = `${code ? "Code" : "Markdown"} cell ${index + 1}${title === "" ? "" : `, ${title}`}`;
  const classNames = [
    styles.cell,
    canEdit && styles.room,
    selected && styles.selected,
    editing && styles.editing,
    byAgent && styles.agent,
  ];
  return (
    // biome-ignore lint/a11y/useSemanticElements: an li cannot give its position in a virtualised list
    <div
      ref={element}
      role="listitem"
      aria-label={name}
      aria-posinset={index + 1}
      aria-setsize={count}
      aria-current={selected || undefined}
      tabIndex={tabbable ? 0 : -1}
      className={classNames.filter(Boolean).join(" ")}
      data-cell={cellId}
      data-keys="notebook"
      onPointerEnter={() => view.set({ hovered: cellId })}
      onPointerLeave={clearHover}
    >
      <Gutter cellId={cellId} code={code} />
      <div className={styles.body}>
        {(selected || hovered) && <Toolbar cellId={cellId} isCode={code} isOtherHovered={isOtherHovered} />}
        <div className={styles.heading}>
          {title !== "" && <bdi className={styles.title}>{title}</bdi>}
          <AgentMark cellId={cellId} />
        </div>
        <ConflictBar cellId={cellId} />
        <PartErrorBoundary what="The text of this cell">
          {code ? (
            <CodeBody cellId={cellId} language={language} name={`Text of ${name}`} />
          ) : (
            <MarkdownBody cellId={cellId} name={`Text of ${name}`} />
          )}
        </PartErrorBoundary>
        {code && <CellResults cellId={cellId} />}
      </div>
      <JumpHighlight cellId={cellId} />
    </div>
  );
});

/** The widgets and outputs of a cell's last run, or a button that shows them if they are hidden. */
function CellResults({ cellId }: { cellId: string }) {
  const context = useNotebookContext();
  const folded = useViewState((state) => state.cellsWithHiddenOutputs.has(cellId));
  const hasResults = useSelect((state) => {
    const run = executionOf(state, cellId);
    return run !== null && (run.outputs.length > 0 || Object.keys(run.widgets).length > 0);
  });
  const results = useRef<HTMLDivElement>(null);
  const found = useViewState((state) => (state.searchHit?.id === cellId ? state.searchHit.inOutputs : null));
  useEffect(() => {
    if (found === null || results.current === null) return;
    const [element, over] = [results.current, new AbortController()];
    void import("./highlightText").then(({ highlightText }) =>
      highlightText(element, found.text, found.nth, over.signal),
    );
    return () => over.abort();
  }, [found]);
  // Old outputs stay on screen while the cell runs again and has none yet.
  const [hadResults, setHadResults] = useState(hasResults);
  if (hasResults && !hadResults) setHadResults(true);
  if (folded && hasResults) {
    return (
      <Button variant="quiet" className={styles.folded ?? ""} onClick={() => toggleOutputs(context, cellId)}>
        Outputs are hidden. Show
      </Button>
    );
  }
  if (folded || !hadResults) return null;
  return (
    <div ref={results} className={styles.results}>
      <PartErrorBoundary what="The widgets of this cell">
        <LazyWidgets cellId={cellId} />
      </PartErrorBoundary>
      <PartErrorBoundary what="The outputs of this cell">
        <LazyCellOutputs cellId={cellId} />
      </PartErrorBoundary>
    </div>
  );
}

/** Highlights a cell briefly after the user jumped to it. */
function JumpHighlight({ cellId }: { cellId: string }) {
  const { view } = useNotebookContext();
  const count = useViewState((state) => (state.jumpHighlight?.id === cellId ? state.jumpHighlight.count : 0));
  if (count === 0) return null;
  return <div key={count} className={styles.flash} onAnimationEnd={() => view.set({ jumpHighlight: null })} />;
}
