import { useId } from "react";
import { Button } from "../ui/Button";
import { About } from "./Field";
import styles from "./Field.module.css";
import { appearanceOf, nameOf } from "./fields";
import { useSetting } from "./useSetting";
import type { WidgetProps } from "./WidgetView";

/** A button. Pressing it runs the cells that read it. */
export function PressButton({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useSetting(cellId, widgetKey, widget);
  const about = useId();
  const { detail, description } = appearanceOf(widget);
  return (
    <div className={styles.field}>
      {description !== "" && <p className={styles.about}>{description}</p>}
      <div className={styles.horizontal}>
        <Button
          aria-describedby={about}
          disabled={control.why !== ""}
          title={control.why}
          onClick={() => control.set(true, { press: true })}
        >
          {nameOf(widget, widgetKey)}
        </Button>
        {detail !== "" && <span className={styles.detail}>{detail}</span>}
        {widget.readonly === true && <span className={styles.detail}>read-only</span>}
      </div>
      <About id={about} widget={widget} control={control} />
    </div>
  );
}
