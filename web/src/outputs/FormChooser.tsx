import { useMemo } from "react";
import { plainName } from "../text/displayText";
import { formNames } from "./formNames";
import type { Form } from "./mime";
import styles from "./Outputs.module.css";

interface Props {
  forms: readonly Form[];
  chosen: Form;
  /** Which output it is, from 1. */
  number: number;
  onChoose: (mime: string) => void;
}

/** The forms that an output can be seen in, below it. */
export function FormChooser({ forms, chosen, number, onChoose }: Props) {
  const names = useMemo(() => formNames(forms), [forms]);
  return (
    <select
      className={styles.forms}
      aria-label={`Form of output ${number}`}
      title={plainName(chosen.mime, 60)}
      value={chosen.mime}
      onChange={(event) => onChoose(event.target.value)}
    >
      {forms.map(({ mime }, index) => (
        <option key={mime} value={mime} title={plainName(mime, 60)}>
          {names[index]}
        </option>
      ))}
    </select>
  );
}
