import { Fragment } from "react";
import { Dialog } from "../ui/Dialog";
import styles from "./KeysHelp.module.css";
import { keySigns, onMac } from "./keyName";
import { editorKeys, type Key, keys } from "./keys";

/** The keys of the notebook, from the table that they are handled by. */
export function KeysHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <Table title="When a cell is selected" rows={keys.filter((key) => key.where !== "edit")} />
      <Table title="In a cell's text" rows={[...keys.filter((key) => key.where !== "command"), ...editorKeys]} />
    </Dialog>
  );
}

type Row = Pick<Key, "keys" | "says">;

/** One row for all keys that do the same. */
function merged(rows: readonly Row[]): Row[] {
  return [...new Set(rows.map(({ says }) => says))].map((says) => ({
    says,
    keys: rows.filter((row) => row.says === says).flatMap(({ keys }) => keys),
  }));
}

function Table({ title, rows }: { title: string; rows: readonly Row[] }) {
  const mac = onMac();
  return (
    <section className={styles.section}>
      <h3>{title}</h3>
      <dl className={styles.keys}>
        {merged(rows).map(({ keys, says }) => (
          <Fragment key={says}>
            <dt>
              {keys.map((name, index) => (
                <Fragment key={name}>
                  {index > 0 && " or "}
                  <Signs signs={keySigns(name, mac)} />
                </Fragment>
              ))}
            </dt>
            <dd>{says}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}

function Signs({ signs }: { signs: string[] }) {
  return signs.map((sign, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the same key may be pressed twice
    <kbd key={index} className={styles.key}>
      {sign}
    </kbd>
  ));
}
