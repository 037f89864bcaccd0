import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useCommands } from "../commands/commands";
import { useSelect } from "../store/store";
import { Button } from "../ui/Button";
import { lazyPart } from "../ui/lazyPart";
import { AgentMark } from "./AgentMark";
import styles from "./Cell.module.css";
import { CodeBody } from "./CodeBody";
import { ConflictBar } from "./ConflictBar";
import { useDesk, useView } from "./desk";
import { Guard } from "./Guard";
import { Gutter } from "./Gutter";
import { toggleOutputs } from "./keys";
import { playHeld } from "./press";
import { Toolbar } from "./Toolbar";
import { cellOf, isMarkdown, runOf, titleOf } from "./text";

// What can wait until there is some of it: the notebook is on the screen before.
const Outputs = lazyPart(async () => (await import("../widgets/CellOutputs")).CellOutputs);
const Widgets = lazyPart(async () => (await import("../widgets/Widgets")).Widgets);
const MarkdownBody = lazyPart(async () => (await import("./MarkdownBody")).MarkdownBody);

interface Props {
  cellId: string;
  /** Its place, from 0. */
  index: number;
  /** Of all cells. */
  count: number;
  language: string;
}

/** More characters of a title are not shown. */
const maxTitle = 200;

/** One cell, as an item of the list. It is drawn again for what concerns itself only. */
export const Cell = memo(function Cell({ cellId, index, count, language }: Props) {
  const desk = useDesk();
  const { view } = desk;
  const code = useSelect((state) => !isMarkdown(state, cellId));
  const title = useSelect((state) => titleOf(state, cellId).slice(0, maxTitle));
  const byAgent = useSelect((state) => cellOf(state, cellId)?.touched?.by === "agent");
  const selected = useView((state) => state.selected === cellId);
  const tabbable = useView((state) => state.selected === cellId || (state.selected === null && index === 0));
  const editing = useView((state) => state.editing && state.selected === cellId);
  const hovered = useView((state) => state.hovered === cellId);
  const aside = useView((state) => state.hovered !== null && state.hovered !== cellId);
  const writes = useCommands() !== null;
  const element = useRef<HTMLDivElement>(null);
  const unpoint = useCallback(() => {
    if (view.get().hovered === cellId) view.set({ hovered: null });
  }, [view, cellId]);
  useEffect(() => unpoint, [unpoint]);

  const focus = useView((state) => (state.selected === cellId && !state.editing ? state.focus : 0));
  useLayoutEffect(() => {
    if (focus === 0 || view.wants !== cellId) return;
    view.wants = null;
    element.current?.focus({ preventScroll: true });
    playHeld(desk, "command", () => {});
  }, [desk, view, cellId, focus]);

  const name = `${code ? "Code" : "Markdown"} cell ${index + 1}${title === "" ? "" : `, ${title}`}`;
  const looks = [
    styles.cell,
    writes && styles.room,
    selected && styles.selected,
    editing && styles.editing,
    byAgent && styles.agent,
  ];
  return (
    // biome-ignore lint/a11y/useSemanticElements: an li of a list that is drawn in part cannot say its place
    <div
      ref={element}
      role="listitem"
      aria-label={name}
      aria-posinset={index + 1}
      aria-setsize={count}
      aria-current={selected || undefined}
      tabIndex={tabbable ? 0 : -1}
      className={looks.filter(Boolean).join(" ")}
      data-cell={cellId}
      data-keys="notebook"
      onPointerEnter={() => view.set({ hovered: cellId })}
      onPointerLeave={unpoint}
    >
      <Gutter cellId={cellId} code={code} />
      <div className={styles.body}>
        {(selected || hovered) && <Toolbar cellId={cellId} code={code} aside={aside} />}
        <div className={styles.heading}>
          {title !== "" && <bdi className={styles.title}>{title}</bdi>}
          <AgentMark cellId={cellId} />
        </div>
        <ConflictBar cellId={cellId} />
        <Guard what="The text of this cell">
          {code ? (
            <CodeBody cellId={cellId} language={language} name={`Text of ${name}`} />
          ) : (
            <MarkdownBody cellId={cellId} name={`Text of ${name}`} />
          )}
        </Guard>
        {code && <Results cellId={cellId} />}
      </div>
      <Flash cellId={cellId} />
    </div>
  );
});

/** What the cell's last run has brought, unless it is folded away. */
function Results({ cellId }: { cellId: string }) {
  const desk = useDesk();
  const folded = useView((state) => state.folded.has(cellId));
  const some = useSelect((state) => {
    const run = runOf(state, cellId);
    return run !== null && (run.outputs.length > 0 || Object.keys(run.widgets).length > 0);
  });
  const results = useRef<HTMLDivElement>(null);
  const found = useView((state) => (state.hit?.id === cellId ? state.hit.shown : null));
  useEffect(() => {
    if (found === null || results.current === null) return;
    const [element, over] = [results.current, new AbortController()];
    void import("./markShown").then(({ markShown }) => markShown(element, found.text, found.nth, over.signal));
    return () => over.abort();
  }, [found]);
  // What was there stays while the cell runs again, and is not there yet.
  const [seen, setSeen] = useState(some);
  if (some && !seen) setSeen(true);
  if (folded && some) {
    return (
      <Button variant="quiet" className={styles.folded ?? ""} onClick={() => toggleOutputs(desk, cellId)}>
        Outputs are hidden. Show
      </Button>
    );
  }
  if (folded || !seen) return null;
  return (
    <div ref={results} className={styles.results}>
      <Guard what="The widgets of this cell">
        <Widgets cellId={cellId} />
      </Guard>
      <Guard what="The outputs of this cell">
        <Outputs cellId={cellId} />
      </Guard>
    </div>
  );
}

/** Draws the eye to the cell for a moment. */
function Flash({ cellId }: { cellId: string }) {
  const { view } = useDesk();
  const count = useView((state) => (state.flash?.id === cellId ? state.flash.count : 0));
  if (count === 0) return null;
  return <div key={count} className={styles.flash} onAnimationEnd={() => view.set({ flash: null })} />;
}
