import { useMemo } from "react";
import { formatCountOf } from "../../format/format";
import { plainName } from "../../text/displayText";
import { Button } from "../../ui/Button";
import type { Attempt } from "../data/attempt";
import type { AttemptFilter } from "../data/filter";
import { outcomeText, type Verdict, verdicts } from "../data/outcome";
import styles from "./FilterBar.module.css";

interface Props {
  attempts: readonly Attempt[];
  filter: AttemptFilter;
  /** Number of attempts that match the filter. */
  shown: number;
  onChange: (filter: AttemptFilter) => void;
}

const emptyAttemptFilter: AttemptFilter = { verdict: "", outcome: "", tag: "", text: "" };

/**
 * Controls that filter a run's attempts by case, verdict, outcome and tag, and the number of
 * attempts shown.
 */
export function FilterBar({ attempts, filter, shown, onChange }: Props) {
  const outcomes = useMemo(() => distinctNonEmpty(attempts.map((attempt) => attempt.outcome)), [attempts]);
  const tags = useMemo(() => distinctNonEmpty(attempts.flatMap((attempt) => attempt.tags)), [attempts]);
  const set = (part: Partial<AttemptFilter>) => onChange({ ...filter, ...part });
  const filtered = Object.values(filter).some((value) => value !== "");
  return (
    <search className={styles.bar}>
      <input
        type="search"
        aria-label="Filter by case"
        placeholder="Filter by case"
        value={filter.text}
        onChange={(event) => set({ text: event.target.value })}
      />
      <FilterSelect
        label="Verdict"
        value={filter.verdict}
        values={verdicts.filter((verdict) => attempts.some((attempt) => attempt.verdict === verdict))}
        onChange={(verdict) => set({ verdict: verdict as Verdict | "" })}
      />
      <FilterSelect label="Outcome" value={filter.outcome} values={outcomes} onChange={(outcome) => set({ outcome })} />
      {tags.length > 0 && (
        <FilterSelect label="Tag" value={filter.tag} values={tags} onChange={(tag) => set({ tag })} />
      )}
      <span role="status" className={styles.count}>
        {filtered ? `${shown} of ${attempts.length} shown` : formatCountOf(attempts.length, "line")}
      </span>
      {filtered && <Button onClick={() => onChange(emptyAttemptFilter)}>Show all</Button>}
    </search>
  );
}

function distinctNonEmpty(values: readonly string[]): string[] {
  return [...new Set(values)].filter((value) => value !== "").sort();
}

interface FilterSelectProps {
  label: string;
  value: string;
  values: readonly string[];
  onChange: (value: string) => void;
}

function FilterSelect({ label, value, values, onChange }: FilterSelectProps) {
  const offered = value === "" || values.includes(value) ? values : [...values, value];
  return (
    <label className={styles.choice}>
      {label}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">any</option>
        {offered.map((one) => (
          <option key={one} value={one}>
            {plainName(outcomeText(one))}
          </option>
        ))}
      </select>
    </label>
  );
}
