import RefreshCw from "lucide-react/icons/refresh-cw";
import { useDeferredValue, useMemo, useRef, useState } from "react";
import { type KernelGlobals, useCommands } from "../commands/commands";
import { formatCountOf, formatDuration } from "../format/format";
import { useSelect } from "../store/store";
import { Button, IconButton } from "../ui/Button";
import { type KernelResponse, useKernelResponse } from "./useKernelResponse";
import styles from "./Variables.module.css";
import { VariableTable } from "./VariableTable";
import { filterAndSortVariables, reuseUnchanged, type Variable, type VariableSortKey, variablesOf } from "./variable";

/** A panel with the kernel's variables. While it is on screen, it loads them again after each run. */
export function Variables() {
  const element = useRef<HTMLElement>(null);
  const commands = useCommands();
  const isKernelDead = useSelect((state) => state.notebook.kernel === "dead");
  const response = useKernelResponse<KernelGlobals>(
    commands === null || isKernelDead ? null : commands.globals,
    element,
  );
  const [text, setText] = useState("");
  const [[order, down], setOrder] = useState<[VariableSortKey, boolean]>(["name", false]);
  const wanted = useDeferredValue(text);
  const variables = useVariables(response.answer);
  const shown = useMemo(() => filterAndSortVariables(variables, wanted, order, down), [variables, wanted, order, down]);
  const sort = (by: VariableSortKey) => setOrder([by, by === order && !down]);
  return (
    <section ref={element} className={styles.variables} aria-label="Variables" aria-busy={response.isLoading}>
      <div className={styles.bar}>
        <input
          type="search"
          className={styles.filter}
          aria-label="Filter variables"
          placeholder="Filter"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <IconButton label="Refresh" disabled={commands === null || isKernelDead} onClick={response.refresh}>
          <RefreshCw />
        </IconButton>
      </div>
      <div className={styles.notes}>
        {commands === null && <p>Read-only: there is no kernel.</p>}
        {isKernelDead && <p className={styles.bad}>{kernelDeadText(variables.length)}</p>}
        {!isKernelDead && <ResponseNotes asked={response} />}
        {response.answer !== null && <p role="status">{variableCountText(shown.length, variables.length)}</p>}
      </div>
      {shown.length > 0 && <VariableTable variables={shown} order={order} isDescending={down} onSort={sort} />}
    </section>
  );
}

/**
 * Returns the variables of a kernel's response. Unchanged ones stay the same objects, so that their
 * rows do not re-render.
 */
function useVariables(answer: KernelGlobals | null): readonly Variable[] {
  const before = useRef<readonly Variable[]>([]);
  return useMemo(() => {
    before.current = reuseUnchanged(before.current, variablesOf(answer?.summary));
    return before.current;
  }, [answer]);
}

/** Errors of the last request and warnings about its response, such as its age. */
function ResponseNotes({ asked: { answer, error, refresh } }: { asked: KernelResponse<KernelGlobals> }) {
  return (
    <>
      {error !== "" && (
        <div role="alert" className={styles.bad}>
          The variables could not be loaded: {error} {answer !== null && "The last known ones are shown. "}
          <Button onClick={refresh}>Try again</Button>
        </div>
      )}
      {answer?.stale === true && (
        <p className={styles.warn}>The kernel is busy. These values are {formatDuration(answer.age_ms ?? null)} old.</p>
      )}
      {answer?.truncated === true && (
        <p className={styles.warn}>Not all variables are shown: the kernel has too many.</p>
      )}
    </>
  );
}

function kernelDeadText(known: number): string {
  const text = "The kernel has exited. Its variables are lost.";
  return known > 0 ? `${text} The last known ones are shown.` : text;
}

function variableCountText(shown: number, all: number): string {
  if (all === 0) return "No variables yet.";
  const names = formatCountOf(all, "variable");
  return shown === all ? names : `${shown.toLocaleString("en")} of ${names}`;
}
