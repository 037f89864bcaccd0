import { Fragment } from "react";
import { Dialog } from "../ui/Dialog";
import { isMacKeyboard, labelsOfShortcut } from "./keyName";
import styles from "./ShortcutsHelp.module.css";
import { editorShortcuts, type Shortcut, shortcuts } from "./shortcuts";

/** A dialog with the keyboard shortcuts, from the table that handles them. */
export function ShortcutsHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <ShortcutTable title="When a cell is selected" rows={shortcuts.filter((key) => key.mode !== "edit")} />
      <ShortcutTable
        title="In a cell's editor"
        rows={[...shortcuts.filter((key) => key.mode !== "command"), ...editorShortcuts]}
      />
    </Dialog>
  );
}

type ShortcutRow = Pick<Shortcut, "keys" | "description">;

/** Merges shortcuts of the same description into one row. */
function mergeShortcutRows(rows: readonly ShortcutRow[]): ShortcutRow[] {
  return [...new Set(rows.map(({ description }) => description))].map((description) => ({
    description,
    keys: rows.filter((row) => row.description === description).flatMap(({ keys }) => keys),
  }));
}

function ShortcutTable({ title, rows }: { title: string; rows: readonly ShortcutRow[] }) {
  const mac = isMacKeyboard();
  return (
    <section className={styles.section}>
      <h3>{title}</h3>
      <dl className={styles.keys}>
        {mergeShortcutRows(rows).map(({ keys, description }) => (
          <Fragment key={description}>
            <dt>
              {keys.map((name, index) => (
                <Fragment key={name}>
                  {index > 0 && " or "}
                  <KeyLabelElements signs={labelsOfShortcut(name, mac)} />
                </Fragment>
              ))}
            </dt>
            <dd>{description}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}

function KeyLabelElements({ signs }: { signs: string[] }) {
  return signs.map((sign, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a shortcut may have the same key twice
    <kbd key={index} className={styles.key}>
      {sign}
    </kbd>
  ));
}
