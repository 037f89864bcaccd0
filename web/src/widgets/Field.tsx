import { type ReactNode, useId } from "react";
import type { Widget } from "../protocol/messages";
import styles from "./Field.module.css";
import { appearanceOf, labelOf, nameOf } from "./fields";
import type { Control } from "./useSetting";

interface Props {
  widgetKey: string;
  widget: Widget;
  control: Control;
  /** Several controls make it up: they are a group, which the label names. */
  group?: boolean;
  /** Draws what the label names, by the id that it is to have, described by the texts of the other id. */
  children: (ids: { id: string; describedBy: string }) => ReactNode;
}

/** A control with its label and with all that is said about it. */
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

/** What is said below a control. */
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
