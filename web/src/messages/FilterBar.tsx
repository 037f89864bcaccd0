import X from "lucide-react/icons/x";
import { type FormEvent, type RefObject, useId, useState } from "react";
import { Button } from "../ui/Button";
import { shortNameText } from "./entryTexts";
import styles from "./FilterBar.module.css";
import {
  activeFilters,
  type FilterKind,
  type Filters,
  filterKinds,
  filterNames,
  hopNames,
  withFilterFromInput,
} from "./filters";

interface Props {
  filters: Filters;
  /** Suggestions for the action filter. */
  actions: readonly string[];
  onChange: (filters: Filters) => void;
  /** The input that the key / focuses. */
  field: RefObject<HTMLElement | null>;
}

const inputPlaceholders: Partial<Record<FilterKind, string>> = {
  text: "in any message",
  action: "such as get_context",
  late: "milliseconds",
};

/** A form that adds a filter, and the active filters, each with a button that removes it. */
export function FilterBar({ filters, actions, onChange, field }: Props) {
  const [kind, setKind] = useState<FilterKind>("text");
  const [input, setInput] = useState("");
  const [problem, setProblem] = useState("");
  const ids = useId();
  const set = (value: string) => {
    const next = withFilterFromInput(filters, kind, value);
    if (typeof next === "string") {
      setProblem(next);
      return;
    }
    setProblem("");
    setInput("");
    onChange(next);
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (input.trim() !== "") set(input);
  };
  const setField = (element: HTMLInputElement | HTMLSelectElement | null) => {
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
            setInput("");
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
          <select ref={setField} aria-label="Hop" value={filters.hop} onChange={(event) => set(event.target.value)}>
            <option value="">any</option>
            {hopNames.map((hop) => (
              <option key={hop}>{hop}</option>
            ))}
          </select>
        ) : (
          <>
            <input
              ref={setField}
              aria-label={filterNames[kind]}
              aria-invalid={problem !== ""}
              aria-describedby={problem === "" ? undefined : `${ids}problem`}
              placeholder={inputPlaceholders[kind] ?? "paste an id"}
              inputMode={kind === "late" ? "numeric" : "text"}
              list={kind === "action" ? `${ids}actions` : undefined}
              spellCheck={false}
              autoComplete="off"
              value={input}
              onChange={(event) => setInput(event.target.value)}
            />
            <Button type="submit">Filter</Button>
          </>
        )}
        <datalist id={`${ids}actions`}>
          {actions.map((action) => (
            <option key={action} value={action}>
              {shortNameText(action)}
            </option>
          ))}
        </datalist>
      </form>
      {activeFilters(filters).map(({ kind: one, text }) => (
        <button
          key={one}
          type="button"
          className={styles.chip}
          aria-label={`Remove filter: ${filterNames[one]} ${shortNameText(text)}`}
          onClick={() => {
            const next = withFilterFromInput(filters, one, "");
            if (typeof next !== "string") onChange(next);
          }}
        >
          <span className={styles.kind}>{filterNames[one]}</span>
          <span className={styles.value}>{shortNameText(text)}</span>
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
