import ChevronDown from "lucide-react/icons/chevron-down";
import ChevronUp from "lucide-react/icons/chevron-up";
import X from "lucide-react/icons/x";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useSelect } from "../store/store";
import { IconButton } from "../ui/Button";
import { type Desk, useDesk, useView } from "./desk";
import { findAll, maxHits, nextHit, sameHit, type Texts } from "./find";
import styles from "./Notebook.module.css";
import { select } from "./select";
import { shownText } from "./shownText";
import { withoutId } from "./view";

/** Finds text in all cells and their outputs. Enter goes on, Shift-Enter back, Esc to the cell where it is. */
export function FindBar() {
  const desk = useDesk();
  const asked = useView((state) => state.finding);
  const current = useView((state) => state.hit);
  const cells = useSelect((state) => state.notebook.cells);
  const order = useSelect((state) => state.notebook.order);
  const executions = useDeferredValue(useSelect((state) => state.notebook.executions));
  const [wanted, setWanted] = useState("");
  const slow = useDeferredValue(wanted);
  const input = useRef<HTMLInputElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other cells or executions mean other texts
  const hits = useMemo(() => findAll(order, textsOf(desk), slow), [order, cells, executions, slow, desk]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each time that it is asked for
  useEffect(() => {
    const marked = document.getSelection()?.toString() ?? "";
    if (marked !== "" && marked.length < 200 && !marked.includes("\n")) setWanted(marked);
    input.current?.focus();
    input.current?.select();
  }, [asked]);
  useEffect(() => () => desk.view.set({ hit: null }), [desk]);

  const go = (step: 1 | -1) => {
    const hit = nextHit(findAll(order, textsOf(desk), wanted), current, step);
    if (hit === null) return;
    const { reveal, folded } = desk.view.get();
    desk.view.set({
      hit,
      selected: hit.id,
      editing: false,
      reveal: reveal + 1,
      folded: hit.shown === null ? folded : withoutId(folded, hit.id),
    });
  };
  const close = () => {
    desk.view.set({ finding: 0 });
    select(desk, desk.view.get().selected);
  };
  const at = current === null ? -1 : hits.findIndex((hit) => sameHit(hit, current));
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
        {wanted === "" ? "" : hitsText(at, hits.length)}
      </span>
      <IconButton label="The one before" disabled={hits.length === 0} onClick={() => go(-1)}>
        <ChevronUp />
      </IconButton>
      <IconButton label="The next one" disabled={hits.length === 0} onClick={() => go(1)}>
        <ChevronDown />
      </IconButton>
      <IconButton label="Close the search" onClick={close}>
        <X />
      </IconButton>
    </search>
  );
}

function textsOf({ drafts, store }: Desk): Texts {
  return { source: drafts.text, shown: (id) => shownText(store.get(), id) };
}

function hitsText(at: number, count: number): string {
  if (count === 0) return "not found";
  const all = count >= maxHits ? `${maxHits} or more` : String(count);
  return at < 0 ? all : `${at + 1} of ${all}`;
}
