import { type ReactNode, useId } from "react";
import type { Widget } from "../protocol/messages";
import styles from "./Field.module.css";
import { appearanceOf, labelOf, nameOf } from "./fields";
import type { Control } from "./useSetting";

interface Props {
  widgetKey: string;
  widget: Widget;
  control: Control;
  /** The field has several controls, which form a group that the label names. */
  group?: boolean;
  /** Renders the control with the id that the label refers to, and the id of the texts that describe it. */
  children: (ids: { id: string; describedBy: string }) => ReactNode;
}

/** A control with its label and description texts. */
export function Field({ widgetKey, widget, control, group = false, children }: Props) {
  const id = useId();
  const describedBy = `${id}about`;
  const { detail, description } = appearanceOf(widget);
  const label = (
    <>
      <span className={labelOf(widget) === "" ? "visually-hidden" : ""}>{nameOf(widget, widgetKey)}</span>
      {detail !== "" && <span className={styles.detail}>{detail}</span>}
      {widget.readonly === true && <span className={styles.detail}>read-only</span>}
    </>
  );
  const rest = (
    <>
      {description !== "" && <p className={styles.about}>{description}</p>}
      {children({ id, describedBy })}
      <About id={describedBy} widget={widget} control={control} />
    </>
  );
  if (group) {
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

/** The texts below a control: help, error and status. */
export function About({ id, widget, control }: { id: string; widget: Widget; control: Control }) {
  const { help, error } = appearanceOf(widget);
  return (
    <div id={id} className={styles.texts}>
      {control.why !== "" && <p className="visually-hidden">{control.why}</p>}
      {help !== "" && <p className={styles.about}>{help}</p>}
      {error !== "" && <p className={styles.error}>{error}</p>}
      <p className={styles.error} role="alert">
        {control.error !== "" && `Not set: ${control.error}`}
      </p>
      <p className={styles.about} role="status">
        {control.waiting}
      </p>
    </div>
  );
}
