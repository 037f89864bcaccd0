import { useMemo, useSyncExternalStore } from "react";
import type { Notebook } from "../../store/state";
import type { Store } from "../../store/store";
import { Quiet } from "../parts/Quiet";
import { alignCells, type Pair } from "./alignCells";
import { CellPair } from "./CellPair";
import styles from "./Compare.module.css";

/** Two notebooks, cell by cell. */
export function NotebookDiff({ stores }: { stores: readonly [Store, Store] }) {
  const a = useNotebook(stores[0]);
  const b = useNotebook(stores[1]);
  const pairs = useMemo(() => alignCells(a, b), [a, b]);
  if (pairs.length === 0) return <Quiet>Both notebooks are empty here.</Quiet>;
  return (
    <ol className={styles.pairs} aria-label="Cells of both notebooks">
      {pairs.map((pair) => (
        <CellPair
          key={keyOf(pair)}
          pair={pair}
          stores={stores}
          places={[placeOf(a, pair.a?.id), placeOf(b, pair.b?.id)]}
        />
      ))}
    </ol>
  );
}

function useNotebook(store: Store): Notebook {
  return useSyncExternalStore(store.subscribe, () => store.get().notebook);
}

function keyOf({ a, b }: Pair): string {
  return `${a?.id ?? ""} ${b?.id ?? ""}`;
}

function placeOf(notebook: Notebook, id: string | undefined): number {
  return id === undefined ? 0 : notebook.order.indexOf(id) + 1;
}
