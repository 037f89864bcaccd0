import { useMemo } from "react";
import { formatCountOf } from "../format/format";
import { anyList, anyObject, number, read } from "../json/schema";
import { oneLine } from "../text/displayText";
import tableStyles from "./DataFrameTable.module.css";
import styles from "./Field.module.css";
import { Note } from "./Note";
import { valueText } from "./valueText";
import type { WidgetProps } from "./WidgetView";
import { appearanceTextsOf, widgetLabelOf, widgetNameOf } from "./widgetTexts";

const maxRows = 100;
const maxColumns = 100;

/** Renders a table widget: up to 100 rows and columns of a data frame, and a note with its full size. */
export function DataFrameTable({ widgetKey, widget }: WidgetProps) {
  const columns = useMemo(
    () =>
      read(anyList, widget.columns)
        .slice(0, maxColumns)
        .map((name) => valueText(name)),
    [widget],
  );
  const rows = read(anyList, widget.rows)
    .slice(0, maxRows)
    .map((row) => read(anyList, row));
  const dtypes = read(anyObject, widget.dtypes);
  const names = read(anyList, widget.columns);
  const { description, help, placeholder } = appearanceTextsOf(widget);
  return (
    <div className={styles.figure}>
      {widgetLabelOf(widget) !== "" && <div className={styles.label}>{widgetLabelOf(widget)}</div>}
      {description !== "" && <p className={styles.helpText}>{description}</p>}
      {columns.length === 0 && rows.length === 0 ? (
        <Note>{placeholder || "There is no table yet."}</Note>
      ) : (
        // biome-ignore lint/a11y/useSemanticElements: a table is not part of a form
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard
        <div className={tableStyles.scroll} role="group" tabIndex={0} aria-label={widgetNameOf(widget, widgetKey)}>
          <table className={tableStyles.table}>
            <thead>
              <tr>
                {columns.map((name, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: columns may have the same name
                  <th key={index} scope="col">
                    {name}
                    <span className={tableStyles.dtype}>{dtypeOfColumn(dtypes, names[index])}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: rows are identified by position
                <tr key={index}>
                  {row.slice(0, maxColumns).map((value, column) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: cells are identified by position
                    <td key={column} className={(number.parse(value) ?? null) === null ? "" : tableStyles.number}>
                      {value === null ? <span className={tableStyles.none}>none</span> : valueText(value, 200)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Note>{shapeText(widget.shape, rows.length, columns.length)}</Note>
      {help !== "" && <p className={styles.helpText}>{help}</p>}
    </div>
  );
}

/** Returns the dtype of a column for display; "" if it is unknown. */
function dtypeOfColumn(dtypes: Readonly<Record<string, unknown>>, name: unknown): string {
  const dtype = typeof name === "string" && Object.hasOwn(dtypes, name) ? dtypes[name] : "";
  return typeof dtype === "string" ? oneLine(dtype, 40) : "";
}

/** Returns how many of the data frame's rows and columns are shown, as "the first 100 of 5,000 rows, 3 columns". */
function shapeText(shape: unknown, rows: number, columns: number): string {
  const [allRows, allColumns] = read(anyList, shape).map((value) => number.parse(value) ?? null);
  return [shownPartText(rows, allRows ?? null, "row"), shownPartText(columns, allColumns ?? null, "column")].join(", ");
}

/** Returns a count with its noun: "3 columns", or "the first 100 of 5,000 rows" if not all are shown. */
function shownPartText(shown: number, all: number | null, noun: string): string {
  const text = (n: number) => formatCountOf(n, noun);
  return all === null || all <= shown ? text(shown) : `the first ${shown} of ${text(all)}`;
}
