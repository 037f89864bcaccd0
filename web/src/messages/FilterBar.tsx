import X from "lucide-react/icons/x";
import { type FormEvent, type RefObject, useId, useState } from "react";
import { Button } from "../ui/Button";
import styles from "./FilterBar.module.css";
import { chipsOf, type FilterKind, type Filters, filterKinds, filterNames, hops, withFilter } from "./filters";
import { nameText } from "./words";

interface Props {
  filters: Filters;
  /** Actions to choose from. */
  actions: readonly string[];
  onChange: (filters: Filters) => void;
  /** The field that the key / goes to. */
  field: RefObject<HTMLElement | null>;
}

const placeholders: Partial<Record<FilterKind, string>> = {
  text: "in any message",
  action: "such as get_context",
  late: "milliseconds",
};

/** What is picked, each as a chip that can be taken out, and a field for more. */
export function FilterBar({ filters, actions, onChange, field }: Props) {
  const [kind, setKind] = useState<FilterKind>("text");
  const [written, setWritten] = useState("");
  const [problem, setProblem] = useState("");
  const ids = useId();
  const set = (value: string) => {
    const next = withFilter(filters, kind, value);
    if (typeof next === "string") {
      setProblem(next);
      return;
    }
    setProblem("");
    setWritten("");
    onChange(next);
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (written.trim() !== "") set(written);
  };
  const take = (element: HTMLInputElement | HTMLSelectElement | null) => {
    field.current = element;
  };
  return (
    <div className={styles.bar}>
      <form className={styles.form} onSubmit={onSubmit}>
        <select
          aria-label="Filter by"
          value={kind}
          onChange={(event) => {
            setKind(filterKinds.find((one) => one === event.target.value) ?? "text");
            setWritten("");
            setProblem("");
          }}
        >
          {filterKinds.map((one) => (
            <option key={one} value={one}>
              {filterNames[one]}
            </option>
          ))}
        </select>
        {kind === "hop" ? (
          <select ref={take} aria-label="Hop" value={filters.hop} onChange={(event) => set(event.target.value)}>
            <option value="">any</option>
            {hops.map((hop) => (
              <option key={hop}>{hop}</option>
            ))}
          </select>
        ) : (
          <>
            <input
              ref={take}
              aria-label={filterNames[kind]}
              aria-invalid={problem !== ""}
              aria-describedby={problem === "" ? undefined : `${ids}problem`}
              placeholder={placeholders[kind] ?? "paste an id"}
              inputMode={kind === "late" ? "numeric" : "text"}
              list={kind === "action" ? `${ids}actions` : undefined}
              spellCheck={false}
              autoComplete="off"
              value={written}
              onChange={(event) => setWritten(event.target.value)}
            />
            <Button type="submit">Filter</Button>
          </>
        )}
        <datalist id={`${ids}actions`}>
          {actions.map((action) => (
            <option key={action} value={action}>
              {nameText(action)}
            </option>
          ))}
        </datalist>
      </form>
      {chipsOf(filters).map(({ kind: one, text }) => (
        <button
          key={one}
          type="button"
          className={styles.chip}
          aria-label={`Take out the filter: ${filterNames[one]} ${nameText(text)}`}
          onClick={() => {
            const next = withFilter(filters, one, "");
            if (typeof next !== "string") onChange(next);
          }}
        >
          <span className={styles.kind}>{filterNames[one]}</span>
          <span className={styles.value}>{nameText(text)}</span>
          <X size={12} aria-hidden="true" />
        </button>
      ))}
      {problem !== "" && (
        <span id={`${ids}problem`} role="alert" className={styles.problem}>
          {problem}
        </span>
      )}
    </div>
  );
}
