import { type ReactNode, useId } from "react";
import type { Widget } from "../protocol/messages";
import styles from "./Field.module.css";
import type { WidgetControl } from "./useWidgetControl";
import { appearanceTextsOf, widgetLabelOf, widgetNameOf } from "./widgetTexts";

interface Props {
  widgetKey: string;
  widget: Widget;
  control: WidgetControl;
  /** Whether the field has several controls, which form a group that the label names. */
  isGroup?: boolean;
  /** Renders the control with the id that the label refers to, and the id of the texts that describe it. */
  children: (ids: { id: string; describedBy: string }) => ReactNode;
}

/** Renders a widget's control with its label above it and the texts that describe it. */
export function Field({ widgetKey, widget, control, isGroup = false, children }: Props) {
  const id = useId();
  const describedBy = `${id}about`;
  const { detail, description } = appearanceTextsOf(widget);
  const label = (
    <>
      <span className={widgetLabelOf(widget) === "" ? "visually-hidden" : ""}>{widgetNameOf(widget, widgetKey)}</span>
      {detail !== "" && <span className={styles.detail}>{detail}</span>}
      {widget.readonly === true && <span className={styles.detail}>read-only</span>}
    </>
  );
  const rest = (
    <>
      {description !== "" && <p className={styles.helpText}>{description}</p>}
      {children({ id, describedBy })}
      <WidgetFieldTexts id={describedBy} widget={widget} control={control} />
    </>
  );
  if (isGroup) {
    return (
      <fieldset className={styles.field} aria-describedby={describedBy}>
        <legend className={styles.label}>{label}</legend>
        {rest}
      </fieldset>
    );
  }
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      {rest}
    </div>
  );
}

/** Renders the texts below a widget's control: help, error, refusal, and what it waits for. */
export function WidgetFieldTexts({ id, widget, control }: { id: string; widget: Widget; control: WidgetControl }) {
  const { help, error } = appearanceTextsOf(widget);
  return (
    <div id={id} className={styles.fieldTexts}>
      {control.disabledReason !== "" && <p className="visually-hidden">{control.disabledReason}</p>}
      {help !== "" && <p className={styles.helpText}>{help}</p>}
      {error !== "" && <p className={styles.error}>{error}</p>}
      <p className={styles.error} role="alert">
        {control.refusalText !== "" && `Not set: ${control.refusalText}`}
      </p>
      <p className={styles.helpText} role="status">
        {control.waitingText}
      </p>
    </div>
  );
}
