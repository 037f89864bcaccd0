import { Suspense, useCallback, useMemo } from "react";
import { navigate, usePathname, useSearch } from "wouter/use-browser-location";
import { comparePath } from "../../routes/paths";
import { LoadErrorBoundary } from "../../ui/LoadErrorBoundary";
import { lazyPart } from "../../ui/lazyPart";
import type { Attempt } from "../data/attempt";
import { type AttemptTableView, filterAndSortAttempts, parseTableView, tableViewParameters } from "../data/filter";
import { useSelectedPair } from "../data/useSelectedPair";
import { CompareLink } from "../parts/CompareLink";
import { MutedText } from "../parts/MutedText";
import styles from "./Attempts.module.css";
import { AttemptTable } from "./AttemptTable";
import { FilterBar } from "./FilterBar";
import { TagRates } from "./TagRates";

const AttemptChart = lazyPart(async () => (await import("./AttemptChart")).default);

interface Props {
  run: string;
  attempts: readonly Attempt[];
  /** The run is in progress, so that more attempts may be added. */
  going: boolean;
}

/**
 * The attempts of a run: filters, the table, the chart and the pass rates by tag. Filter and sort
 * order are parameters of the page's address.
 */
export function Attempts({ run, attempts, going }: Props) {
  const [shown, setShown] = useTableView();
  const [chosen, choose, clear] = useSelectedPair();
  const rows = useMemo(() => filterAndSortAttempts(attempts, shown), [attempts, shown]);
  return (
    <>
      <h2 className={styles.heading}>Attempts</h2>
      <FilterBar
        attempts={attempts}
        filter={shown.filter}
        shown={rows.length}
        onChange={(filter) => setShown({ ...shown, filter })}
      />
      <CompareLink
        chosen={chosen}
        what="attempt"
        path={(a, b) => comparePath({ run, attempt: a }, { run, attempt: b })}
        onClear={clear}
      />
      {rows.length === 0 ? (
        <MutedText>
          {attempts.length > 0 ? "No attempt matches." : going ? "No attempt has begun yet." : "There are no attempts."}
        </MutedText>
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
      <div className={styles.charts}>
        <LoadErrorBoundary>
          <Suspense fallback={null}>
            <AttemptChart run={run} attempts={rows} />
          </Suspense>
        </LoadErrorBoundary>
        <TagRates attempts={attempts} onTag={(tag) => setShown({ ...shown, filter: { ...shown.filter, tag } })} />
      </div>
    </>
  );
}

/** Returns the filter and sort order in the page's address, and a function that changes them there. */
function useTableView(): readonly [AttemptTableView, (shown: AttemptTableView) => void] {
  const search = useSearch();
  const path = usePathname();
  const shown = useMemo(() => parseTableView(search), [search]);
  const set = useCallback(
    (next: AttemptTableView) => {
      const parameters = tableViewParameters(next);
      navigate(parameters === "" ? path : `${path}?${parameters}`, { replace: true });
    },
    [path],
  );
  return [shown, set];
}
