import ChevronDown from "lucide-react/icons/chevron-down";
import ChevronRight from "lucide-react/icons/chevron-right";
import { memo, useId, useState } from "react";
import { Badge } from "../ui/Badge";
import styles from "./Variables.module.css";
import type { Variable, VariableDetailTables } from "./variable";

/** A table row for one variable. A click on its name shows details that do not fit the row. */
export const VariableRow = memo(function VariableRow({ variable }: { variable: Variable }) {
  const { name, type, size, preview, isError, isSignal, details } = variable;
  const [open, setOpen] = useState(false);
  const id = useId();
  const shown = open && details !== null;
  return (
    <>
      <tr>
        <th scope="row" className={styles.name}>
          {details === null ? (
            <span className={styles.plain}>{name}</span>
          ) : (
            <button
              type="button"
              className={styles.open}
              aria-expanded={open}
              aria-controls={id}
              onClick={() => setOpen(!open)}
            >
              {open ? <ChevronDown aria-hidden /> : <ChevronRight aria-hidden />}
              {name}
            </button>
          )}
          {isSignal && (
            <Badge tone="accent" title="Cells that read it run again when it changes">
              signal
            </Badge>
          )}
        </th>
        <td className={styles.type} title={type}>
          {type}
        </td>
        <td className={styles.size}>{size}</td>
        <td className={isError ? styles.failed : styles.preview} title={preview}>
          {isError && "Error: "}
          {preview}
        </td>
      </tr>
      {shown && (
        <tr>
          <td id={id} colSpan={4} className={styles.details}>
            <VariableDetails details={details} />
          </td>
        </tr>
      )}
    </>
  );
});

function VariableDetails({ details: { text, tables } }: { details: VariableDetailTables }) {
  return (
    <>
      {text !== "" && <pre>{text}</pre>}
      {tables.map(({ heading, columns }) => (
        <div key={heading}>
          <p>{heading}</p>
          <ul>
            {columns.map(({ name, dtype }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns may have the same name
              <li key={index}>
                <code>{name}</code> <span>{dtype}</span>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}
