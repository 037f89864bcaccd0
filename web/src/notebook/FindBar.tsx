import ChevronDown from "lucide-react/icons/chevron-down";
import ChevronUp from "lucide-react/icons/chevron-up";
import X from "lucide-react/icons/x";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useSelect } from "../store/store";
import { IconButton } from "../ui/Button";
import styles from "./Notebook.module.css";
import { type NotebookContext, useNotebookContext, useViewState } from "./notebookContext";
import { outputText } from "./outputText";
import { type CellTexts, findHitsInCells, isSameHit, maxSearchHits, nextHit } from "./search";
import { selectCell } from "./selection";
import { withoutId } from "./viewState";

/**
 * A search field for all cells and their outputs. Enter goes to the next hit, Shift-Enter to the
 * previous one, Escape to the cell of the current hit.
 */
export function FindBar() {
  const context = useNotebookContext();
  const asked = useViewState((state) => state.findRequests);
  const current = useViewState((state) => state.searchHit);
  const cells = useSelect((state) => state.notebook.cells);
  const order = useSelect((state) => state.notebook.order);
  const executions = useDeferredValue(useSelect((state) => state.notebook.executions));
  const [wanted, setWanted] = useState("");
  const slow = useDeferredValue(wanted);
  const input = useRef<HTMLInputElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: searchableCellTexts reads the cells and the executions
  const hits = useMemo(
    () => findHitsInCells(order, searchableCellTexts(context), slow),
    [order, cells, executions, slow, context],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs for each request to search
  useEffect(() => {
    const marked = document.getSelection()?.toString() ?? "";
    if (marked !== "" && marked.length < 200 && !marked.includes("\n")) setWanted(marked);
    input.current?.focus();
    input.current?.select();
  }, [asked]);
  useEffect(() => () => context.view.set({ searchHit: null }), [context]);

  const go = (step: 1 | -1) => {
    const hit = nextHit(findHitsInCells(order, searchableCellTexts(context), wanted), current, step);
    if (hit === null) return;
    const { revealRequests, cellsWithHiddenOutputs } = context.view.get();
    context.view.set({
      searchHit: hit,
      selected: hit.id,
      editing: false,
      revealRequests: revealRequests + 1,
      cellsWithHiddenOutputs:
        hit.inOutputs === null ? cellsWithHiddenOutputs : withoutId(cellsWithHiddenOutputs, hit.id),
    });
  };
  const close = () => {
    context.view.set({ findRequests: 0 });
    selectCell(context, context.view.get().selected);
  };
  const at = current === null ? -1 : hits.findIndex((hit) => isSameHit(hit, current));
  return (
    <search className={styles.find}>
      <input
        ref={input}
        type="search"
        aria-label="Find in all cells"
        placeholder="Find in all cells"
        value={wanted}
        onChange={(event) => setWanted(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") close();
          else return;
          event.preventDefault();
        }}
      />
      <span className={styles.hits} role="status">
        {wanted === "" ? "" : hitCountText(at, hits.length)}
      </span>
      <IconButton label="Previous" disabled={hits.length === 0} onClick={() => go(-1)}>
        <ChevronUp />
      </IconButton>
      <IconButton label="Next" disabled={hits.length === 0} onClick={() => go(1)}>
        <ChevronDown />
      </IconButton>
      <IconButton label="Close search" onClick={close}>
        <X />
      </IconButton>
    </search>
  );
}

function searchableCellTexts({ drafts, store }: NotebookContext): CellTexts {
  return { source: drafts.text, outputs: (id) => outputText(store.get(), id) };
}

function hitCountText(at: number, count: number): string {
  if (count === 0) return "not found";
  const all = count >= maxSearchHits ? `${maxSearchHits} or more` : String(count);
  return at < 0 ? all : `${at + 1} of ${all}`;
}
