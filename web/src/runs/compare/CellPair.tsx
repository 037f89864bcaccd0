import { type ReactNode, useMemo, useState } from "react";
import type { Cell } from "../../store/state";
import { type Store, StoreProvider } from "../../store/store";
import { CellOutputs } from "../../widgets/CellOutputs";
import type { MatchedCells } from "./alignCells";
import styles from "./Compare.module.css";
import { type DiffLine, lineDiff } from "./lineDiff";

interface Props {
  pair: MatchedCells;
  /** Stores of the two notebooks. */
  stores: readonly [Store, Store];
  /** Positions of the cells in their notebooks, from 1. */
  places: readonly [number, number];
}

/** Two matching cells side by side with their differing lines marked. */
export function CellPair({ pair, stores, places }: Props) {
  const { a, b } = pair;
  const lines = useMemo(() => lineDiff(a?.source ?? "", b?.source ?? ""), [a, b]);
  const same = a !== null && b !== null && a.source === b.source;
  return (
    <li className={styles.pair}>
      <CellSide
        cell={a}
        place={places[0]}
        store={stores[0]}
        note={same ? "same" : noteOfCellDifference(a, b, "only in A")}
      >
        <DiffLines lines={lines} hidden="added" />
      </CellSide>
      <CellSide
        cell={b}
        place={places[1]}
        store={stores[1]}
        note={same ? "same" : noteOfCellDifference(b, a, "only in B")}
      >
        <DiffLines lines={lines} hidden="removed" />
      </CellSide>
    </li>
  );
}

function noteOfCellDifference(cell: Cell | null, other: Cell | null, alone: string): string {
  if (cell === null) return "";
  return other === null ? alone : "changed";
}

interface CellSideProps {
  cell: Cell | null;
  place: number;
  store: Store;
  note: string;
  children: ReactNode;
}

function CellSide({ cell, place, store, note, children }: CellSideProps) {
  if (cell === null) return <div className={styles.none}>no such cell</div>;
  return (
    <div className={styles.side}>
      <p className={styles.note}>{`Cell ${place}, ${cell.type === "markdown" ? "Markdown, " : ""}${note}`}</p>
      <pre className={styles.source}>{children}</pre>
      <StoreProvider value={store}>
        <CollapsedOutputs id={cell.id} store={store} />
      </StoreProvider>
    </div>
  );
}

/** The outputs of a cell in a collapsed section, rendered when it is opened. */
function CollapsedOutputs({ id, store }: { id: string; store: Store }) {
  const [open, setOpen] = useState(false);
  const run = store.get().notebook.executions[id];
  if (run === undefined) return null;
  const count = run.outputs.length;
  const words = `${run.status}, ${count === 0 ? "no" : count} ${count === 1 ? "output" : "outputs"}`;
  if (count === 0) return <p className={styles.note}>{words}</p>;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{words}</summary>
      {open && <CellOutputs cellId={id} />}
    </details>
  );
}

const diffSigns = { same: " ", removed: "−", added: "+" };

/**
 * The lines of one side of a diff. Lines of the kind `hidden` exist only on the other side and are
 * left out.
 */
function DiffLines({ lines, hidden }: { lines: readonly DiffLine[]; hidden: DiffLine["kind"] }) {
  return lines.map(({ kind, text }, index) => {
    if (kind === hidden) return null;
    const Tag = kind === "same" ? "span" : kind === "removed" ? "del" : "ins";
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: lines are identified by position
      <Tag key={index} className={`${styles.line} ${styles[kind]}`}>
        <span className={styles.sign}>{diffSigns[kind]}</span>
        {text}
        {"\n"}
      </Tag>
    );
  });
}
