import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { Link } from "wouter";
import { navigate, usePathname, useSearch } from "wouter/use-browser-location";
import { Button } from "../../ui/Button";
import { readShown, type Shown, shownOf, writeShown } from "../data/filter";
import type { Attempt } from "../data/line";
import { comparePath } from "../data/paths";
import { Quiet } from "../parts/Quiet";
import styles from "./Attempts.module.css";
import { AttemptTable } from "./AttemptTable";
import { FilterBar } from "./FilterBar";
import { TagRates } from "./TagRates";

const AttemptChart = lazy(() => import("./AttemptChart"));

interface Props {
  run: string;
  attempts: readonly Attempt[];
  /** More may come. */
  going: boolean;
}

/** The attempts of a run: charts, and the table, filtered as the address says. */
export function Attempts({ run, attempts, going }: Props) {
  const [shown, setShown] = useShown();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const rows = useMemo(() => shownOf(attempts, shown), [attempts, shown]);
  const choose = useCallback((name: string) => setChosen((old) => chosenWith(old, name)), []);
  return (
    <>
      <div className={styles.charts}>
        <Suspense fallback={null}>
          <AttemptChart run={run} attempts={rows} />
        </Suspense>
        <TagRates attempts={attempts} onTag={(tag) => setShown({ ...shown, filter: { ...shown.filter, tag } })} />
      </div>
      <h2 className={styles.heading}>Attempts</h2>
      <FilterBar
        attempts={attempts}
        filter={shown.filter}
        shown={rows.length}
        onChange={(filter) => setShown({ ...shown, filter })}
      />
      <Chosen run={run} chosen={chosen} onClear={() => setChosen([])} />
      {rows.length === 0 ? (
        <Quiet>
          {attempts.length > 0 ? "No attempt matches." : going ? "No attempt has begun yet." : "There are no attempts."}
        </Quiet>
      ) : (
        <AttemptTable
          run={run}
          attempts={rows}
          order={shown.order}
          onOrder={(order) => setShown({ ...shown, order })}
          chosen={chosen}
          onChoose={choose}
        />
      )}
    </>
  );
}

/** What is shown is in the address, and follows it. */
function useShown(): readonly [Shown, (shown: Shown) => void] {
  const search = useSearch();
  const path = usePathname();
  const shown = useMemo(() => readShown(search), [search]);
  const set = useCallback(
    (next: Shown) => {
      const parameters = writeShown(next);
      navigate(parameters === "" ? path : `${path}?${parameters}`, { replace: true });
    },
    [path],
  );
  return [shown, set];
}

/** At most two are chosen: a third takes the place of the older. */
function chosenWith(chosen: readonly string[], name: string): readonly string[] {
  if (chosen.includes(name)) return chosen.filter((other) => other !== name);
  return [...chosen, name].slice(-2);
}

function Chosen({ run, chosen, onClear }: { run: string; chosen: readonly string[]; onClear: () => void }) {
  const [a, b] = chosen;
  if (a === undefined) return null;
  return (
    <div className={styles.chosen} role="status">
      {b === undefined ? (
        <span>One attempt is chosen. Choose another to compare them.</span>
      ) : (
        <Link href={comparePath({ run, attempt: a }, { run, attempt: b })}>Compare the two chosen attempts</Link>
      )}
      <Button look="quiet" onClick={onClear}>
        Choose none
      </Button>
    </div>
  );
}
