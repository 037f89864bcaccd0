import { type KeyboardEvent, useRef, useState } from "react";
import { Problem } from "../api/Problem";
import { TraceBeginningContext } from "./clock";
import { EntryList } from "./EntryList";
import { EntryPanel } from "./EntryPanel";
import { FilterBar } from "./FilterBar";
import styles from "./Flow.module.css";
import { type FilterKind, type Filters, hasFilter, withFilterFromInput } from "./filters";
import type { FlowModel } from "./flowModel";
import { StatisticsTable } from "./StatisticsTable";
import { ToolBar } from "./ToolBar";
import { useBeginningTime } from "./useBeginningTime";
import { useFlowView } from "./useFlowModel";
import { type LiveTraceOptions, useLiveTrace } from "./useLiveTrace";
import { useRowSearch } from "./useRowSearch";
import { useSelection } from "./useSelection";

interface Props {
  model: FlowModel;
  /** Path of the /watch WebSocket; null: the trace has ended. */
  watch: string | null;
  live: LiveTraceOptions;
}

/** The filters, the list of messages and the details of the selected message. */
export function MessagesBoard({ model, watch, live: options }: Props) {
  const view = useFlowView(model);
  const live = useLiveTrace(model, view.count !== null, watch, options);
  const beginning = useBeginningTime(model.base, watch !== null);
  const selection = useSelection(model, view);
  const [open, setOpen] = useState(false);
  const [statistics, setStatistics] = useState(false);
  const field = useRef<HTMLElement>(null);
  const root = useRef<HTMLDivElement>(null);
  const search = useRowSearch(model, selection.move);

  const filterBy = (filters: Filters) => {
    model.setFilters(filters);
    selection.reset();
  };
  const onAddFilter = (kind: FilterKind, value: string) => {
    const next = withFilterFromInput(view.filters, kind, value);
    if (typeof next !== "string") filterBy(next);
  };
  const onNextOdd = (step: 1 | -1) => {
    const start = step > 0 ? -1 : (view.count ?? 0);
    search.findOdd(selection.moves > 0 ? selection.row : start, step);
  };
  const close = () => {
    setOpen(false);
    root.current?.querySelector<HTMLElement>("[role=listbox]")?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const typing = event.target instanceof Element && event.target.closest("input, select, textarea") !== null;
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") field.current?.focus();
    else if (event.key === "n") onNextOdd(1);
    else if (event.key === "N") onNextOdd(-1);
    else if (event.key === "Escape" && open) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const { entry } = selection;
  return (
    <TraceBeginningContext value={beginning}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys of what is inside */}
      <div ref={root} className={styles.flow} onKeyDown={onKeyDown}>
        <div className={styles.bars}>
          <FilterBar filters={view.filters} actions={view.actions} onChange={filterBy} field={field} />
          <ToolBar
            view={view}
            live={live}
            searchStatus={search.status}
            onStreams={(streams) => filterBy({ ...view.filters, streams })}
            onGo={search.goTo}
            onNextOdd={onNextOdd}
            statistics={statistics}
            onStatistics={() => setStatistics(!statistics)}
          />
        </div>
        {view.problem !== null && (
          <Problem what="The messages could not be loaded" error={view.problem} onRetry={() => model.retry()} />
        )}
        {statistics && (
          <StatisticsTable base={model.base} filters={view.filters} onClose={() => setStatistics(false)} />
        )}
        <div className={styles.middle}>
          {view.count === 0 ? (
            <p className={styles.empty}>
              {hasFilter(view.filters) ? "No messages match the filters." : "No messages yet."}
            </p>
          ) : (
            <EntryList
              key={view.count === null ? "loading" : "loaded"}
              model={model}
              view={view}
              live={watch !== null && !view.complete}
              active={selection.row}
              moves={selection.moves}
              selected={entry}
              onMove={selection.move}
              onOpen={(row) => {
                selection.move(row);
                setOpen(true);
              }}
            />
          )}
          {open && entry !== null && (
            <EntryPanel
              base={model.base}
              entry={entry}
              requests={selection.requests}
              complete={view.complete}
              onSeq={(seq) => search.goTo({ seq }, true)}
              onFilter={onAddFilter}
              onClose={close}
            />
          )}
        </div>
      </div>
    </TraceBeginningContext>
  );
}
