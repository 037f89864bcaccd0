import { useMemo, useSyncExternalStore } from "react";
import type { Notebook } from "../../store/state";
import type { Store } from "../../store/store";
import { MutedText } from "../parts/MutedText";
import { alignCells, type MatchedCells } from "./alignCells";
import { CellPair } from "./CellPair";
import styles from "./Compare.module.css";

/** Two notebooks compared cell by cell. */
export function NotebookDiff({ stores }: { stores: readonly [Store, Store] }) {
  const a = useNotebook(stores[0]);
  const b = useNotebook(stores[1]);
  const pairs = useMemo(() => alignCells(a, b), [a, b]);
  if (pairs.length === 0) return <MutedText>Both notebooks are empty here.</MutedText>;
  return (
    <ol className={styles.pairs} aria-label="Cells of both notebooks">
      {pairs.map((pair) => (
        <CellPair
          key={keyOfMatchedCells(pair)}
          pair={pair}
          stores={stores}
          places={[cellPosition(a, pair.a?.id), cellPosition(b, pair.b?.id)]}
        />
      ))}
    </ol>
  );
}

function useNotebook(store: Store): Notebook {
  return useSyncExternalStore(store.subscribe, () => store.get().notebook);
}

function keyOfMatchedCells({ a, b }: MatchedCells): string {
  return `${a?.id ?? ""} ${b?.id ?? ""}`;
}

function cellPosition(notebook: Notebook, id: string | undefined): number {
  return id === undefined ? 0 : notebook.order.indexOf(id) + 1;
}
