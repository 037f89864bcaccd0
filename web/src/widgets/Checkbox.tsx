import { useId } from "react";
import { WidgetFieldTexts } from "./Field";
import styles from "./Field.module.css";
import { Note } from "./Note";
import { useWidgetControl } from "./useWidgetControl";
import { valueText } from "./valueText";
import type { WidgetProps } from "./WidgetView";
import { appearanceTextsOf, widgetNameOf } from "./widgetTexts";

/** Renders a checkbox widget, whose value is a boolean. */
export function Checkbox({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useWidgetControl(cellId, widgetKey, widget);
  const about = useId();
  const { detail, description } = appearanceTextsOf(widget);
  const known = typeof control.value === "boolean" || control.value === null || control.value === undefined;
  return (
    <div className={styles.field}>
      <label className={styles.choice} title={control.disabledReason}>
        <input
          type="checkbox"
          aria-describedby={about}
          checked={control.value === true}
          disabled={control.disabledReason !== ""}
          onChange={(event) => control.set(event.target.checked)}
        />
        <span>{widgetNameOf(widget, widgetKey)}</span>
        {detail !== "" && <span className={styles.detail}>{detail}</span>}
        {widget.readonly === true && <span className={styles.detail}>read-only</span>}
      </label>
      {description !== "" && <p className={styles.helpText}>{description}</p>}
      {!known && <Note>{valueText(control.value)} is neither true nor false.</Note>}
      <WidgetFieldTexts id={about} widget={widget} control={control} />
    </div>
  );
}
