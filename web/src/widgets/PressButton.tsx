import { useId } from "react";
import { Button } from "../ui/Button";
import { WidgetFieldTexts } from "./Field";
import styles from "./Field.module.css";
import { useWidgetControl } from "./useWidgetControl";
import type { WidgetProps } from "./WidgetView";
import { appearanceTextsOf, widgetNameOf } from "./widgetTexts";

/** Renders a button widget. Pressing it makes the kernel run the cells that read the button. */
export function PressButton({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useWidgetControl(cellId, widgetKey, widget);
  const about = useId();
  const { detail, description } = appearanceTextsOf(widget);
  return (
    <div className={styles.field}>
      {description !== "" && <p className={styles.helpText}>{description}</p>}
      <div className={styles.horizontal}>
        <Button
          aria-describedby={about}
          disabled={control.disabledReason !== ""}
          title={control.disabledReason}
          onClick={() => control.set(true, { isPress: true })}
        >
          {widgetNameOf(widget, widgetKey)}
        </Button>
        {detail !== "" && <span className={styles.detail}>{detail}</span>}
        {widget.readonly === true && <span className={styles.detail}>read-only</span>}
      </div>
      <WidgetFieldTexts id={about} widget={widget} control={control} />
    </div>
  );
}
