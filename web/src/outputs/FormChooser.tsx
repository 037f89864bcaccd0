import { useMemo } from "react";
import { plainName } from "../text/displayText";
import { uniqueFormNames } from "./formNames";
import styles from "./Outputs.module.css";
import type { OutputForm } from "./outputForms";

interface Props {
  forms: readonly OutputForm[];
  chosen: OutputForm;
  /** The number of the output among the cell's outputs, from 1. */
  number: number;
  onChoose: (mime: string) => void;
}

/** Renders a menu of the forms in which an output can be shown. */
export function FormChooser({ forms, chosen, number, onChoose }: Props) {
  const names = useMemo(() => uniqueFormNames(forms), [forms]);
  return (
    <select
      className={styles.formMenu}
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
