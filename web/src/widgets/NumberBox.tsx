import { useState } from "react";
import { number } from "../json/schema";
import styles from "./Field.module.css";

interface Props {
  id?: string | undefined;
  describedBy: string;
  /** Accessible name; absent if a label element refers to the id. */
  label?: string | undefined;
  value: unknown;
  /** Why the number cannot be set; "" if it can. */
  disabledReason: string;
  placeholder: string;
  onChange: (value: number) => void;
}

/** Renders a number input for a slider without two bounds. Calls onChange on Enter and when the input loses the focus. */
export function NumberBox({ id, describedBy, label, value, disabledReason, placeholder, onChange }: Props) {
  const [draft, setDraft] = useState<string | null>(null);
  const known = number.parse(value) ?? null;
  const done = () => {
    const number = draft === null || draft.trim() === "" ? Number.NaN : Number(draft);
    if (Number.isFinite(number) && number !== known) onChange(number);
    setDraft(null);
  };
  return (
    <input
      type="number"
      step="any"
      id={id}
      className={styles.input}
      aria-label={label}
      aria-describedby={describedBy}
      disabled={disabledReason !== ""}
      title={disabledReason}
      placeholder={placeholder}
      value={draft ?? (known === null ? "" : String(known))}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={done}
      onKeyDown={(event) => event.key === "Enter" && done()}
    />
  );
}
