import { formatCountOf } from "../format/format";
import { anyObject } from "../json/schema";
import { plainName } from "../text/displayText";
import styles from "./SafeHtml.module.css";

/** How many rows and columns are shown. */
const maxRows = 200;
const maxColumns = 100;

/** Shows an application/vnd.dataresource+json table: the fields of its schema are the columns, rows are objects by field name. */
export function DataTable({ schema, rows }: { schema: readonly unknown[]; rows: readonly unknown[] }) {
  const names = schema.slice(0, maxColumns).map((field) => String(anyObject.parse(field)?.name ?? ""));
  return (
    <div className={styles.html}>
      <table className="dataframe">
        <thead>
          <tr>
            {names.map((name, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: names may be the same
              <th key={column} scope="col">
                {plainName(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, maxRows).map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no key but their position
            <tr key={index}>
              {names.map((name, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: names may be the same
                <td key={column}>{tableCellText(anyObject.parse(row)?.[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {(rows.length > maxRows || schema.length > maxColumns) && (
        <p>
          {formatCountOf(rows.length, "row")}, {formatCountOf(schema.length, "column")}. Only the first {maxRows} rows
          and {maxColumns} columns are shown.
        </p>
      )}
    </div>
  );
}

function tableCellText(value: unknown): string {
  return typeof value === "object" ? plainName(value) : plainName(String(value ?? ""));
}
