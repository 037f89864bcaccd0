import RefreshCw from "lucide-react/icons/refresh-cw";
import { useDeferredValue, useMemo, useRef, useState } from "react";
import { type Globals, useCommands } from "../commands/commands";
import { formatCountOf, formatDuration } from "../format/format";
import { useSelect } from "../store/store";
import { Button, IconButton } from "../ui/Button";
import { type Asked, useAsked } from "./useAsked";
import styles from "./Variables.module.css";
import { VariableTable } from "./VariableTable";
import { arranged, keptSame, type Order, type Variable, variablesOf } from "./variable";

/** The names that the kernel holds, and what each is; asked for again after each run, while it is on screen. */
export function Variables() {
  const place = useRef<HTMLElement>(null);
  const commands = useCommands();
  const gone = useSelect((state) => state.notebook.kernel === "dead");
  const asked = useAsked<Globals>(commands === null || gone ? null : commands.globals, place);
  const [text, setText] = useState("");
  const [[order, down], setOrder] = useState<[Order, boolean]>(["name", false]);
  const wanted = useDeferredValue(text);
  const variables = useVariables(asked.answer);
  const shown = useMemo(() => arranged(variables, wanted, order, down), [variables, wanted, order, down]);
  const sort = (by: Order) => setOrder([by, by === order && !down]);
  return (
    <section ref={place} className={styles.variables} aria-label="Variables" aria-busy={asked.asking}>
      <div className={styles.bar}>
        <input
          type="search"
          className={styles.filter}
          aria-label="Filter the variables"
          placeholder="Filter"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <IconButton label="Ask again" disabled={commands === null || gone} onClick={asked.again}>
          <RefreshCw />
        </IconButton>
      </div>
      <div className={styles.notes}>
        {commands === null && <p>The notebook is only looked at: there is no kernel to ask.</p>}
        {gone && <p className={styles.bad}>{goneText(variables.length)}</p>}
        {!gone && <Notes asked={asked} />}
        {asked.answer !== null && <p role="status">{countText(shown.length, variables.length)}</p>}
      </div>
      {shown.length > 0 && <VariableTable variables={shown} order={order} down={down} onSort={sort} />}
    </section>
  );
}

/** The variables of an answer. Those that have not changed stay the same, so that their rows are not drawn again. */
function useVariables(answer: Globals | null): readonly Variable[] {
  const before = useRef<readonly Variable[]>([]);
  return useMemo(() => {
    before.current = keptSame(before.current, variablesOf(answer?.summary));
    return before.current;
  }, [answer]);
}

/** What is to be known of the answer. */
function Notes({ asked: { answer, error, again } }: { asked: Asked<Globals> }) {
  return (
    <>
      {error !== "" && (
        <div role="alert" className={styles.bad}>
          The variables could not be asked for: {error} {answer !== null && "Those below are as they were before. "}
          <Button onClick={again}>Try again</Button>
        </div>
      )}
      {answer?.stale === true && (
        <p className={styles.warn}>
          The kernel was too busy to answer: this is how it was {formatDuration(answer.age_ms ?? null)} before.
        </p>
      )}
      {answer?.truncated === true && (
        <p className={styles.warn}>The kernel holds more names than it tells of: some are missing here.</p>
      )}
    </>
  );
}

function goneText(known: number): string {
  const text = "The kernel is gone, and the variables with it.";
  return known > 0 ? `${text} These were the last ones known.` : text;
}

function countText(shown: number, all: number): string {
  if (all === 0) return "The kernel holds no names yet.";
  const names = formatCountOf(all, "name");
  return shown === all ? names : `${shown.toLocaleString("en")} of ${names}`;
}
