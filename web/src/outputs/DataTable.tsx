import { formatCountOf } from "../format/format";
import { anyObject } from "../json/schema";
import { plainName } from "../text/displayText";
import styles from "./SafeHtml.module.css";

const mostRows = 200;
const mostColumns = 100;

/** A table as application/vnd.dataresource+json has it: fields with names, rows by these names. */
export function DataTable({ schema, rows }: { schema: readonly unknown[]; rows: readonly unknown[] }) {
  const names = schema.slice(0, mostColumns).map((field) => String(anyObject.parse(field)?.name ?? ""));
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
          {rows.slice(0, mostRows).map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is known by its number
            <tr key={index}>
              {names.map((name, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: names may be the same
                <td key={column}>{cellText(anyObject.parse(row)?.[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {(rows.length > mostRows || schema.length > mostColumns) && (
        <p>
          {formatCountOf(rows.length, "row")}, {formatCountOf(schema.length, "column")}; the first {mostRows} and{" "}
          {mostColumns} are shown.
        </p>
      )}
    </div>
  );
}

function cellText(value: unknown): string {
  return typeof value === "object" ? plainName(value) : plainName(String(value ?? ""));
}
