import { useId } from "react";
import { About } from "./Field";
import styles from "./Field.module.css";
import { appearanceOf, nameOf } from "./fields";
import { Note } from "./Note";
import { valueText } from "./text";
import { useSetting } from "./useSetting";
import type { WidgetProps } from "./WidgetView";

/** A checkbox for a boolean. */
export function Checkbox({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useSetting(cellId, widgetKey, widget);
  const about = useId();
  const { detail, description } = appearanceOf(widget);
  const known = typeof control.value === "boolean" || control.value === null || control.value === undefined;
  return (
    <div className={styles.field}>
      <label className={styles.choice} title={control.why}>
        <input
          type="checkbox"
          aria-describedby={about}
          checked={control.value === true}
          disabled={control.why !== ""}
          onChange={(event) => control.set(event.target.checked)}
        />
        <span>{nameOf(widget, widgetKey)}</span>
        {detail !== "" && <span className={styles.detail}>{detail}</span>}
        {widget.readonly === true && <span className={styles.detail}>read-only</span>}
      </label>
      {description !== "" && <p className={styles.about}>{description}</p>}
      {!known && <Note>{valueText(control.value)} is neither true nor false.</Note>}
      <About id={about} widget={widget} control={control} />
    </div>
  );
}
