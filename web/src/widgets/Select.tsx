import { useMemo } from "react";
import { Field } from "./Field";
import styles from "./Field.module.css";
import { appearanceOf } from "./fields";
import { OptionPicker } from "./OptionPicker";
import { type Option, optionOf, optionsOf } from "./options";
import { valueText } from "./text";
import { type Control, useSetting } from "./useSetting";
import type { WidgetProps } from "./WidgetView";

/** Above this many options the list is searchable. */
export const many = 60;

/** A control that selects one of several options, or none. */
export function Select({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useSetting(cellId, widgetKey, widget);
  const options = useMemo(() => optionsOf(widget), [widget]);
  const { placeholder } = appearanceOf(widget);
  const props = { options, control, required: widget.required === true, placeholder };
  return (
    <Field widgetKey={widgetKey} widget={widget} control={control}>
      {(ids) => (options.length > many ? <OptionPicker {...props} {...ids} /> : <Native {...props} {...ids} />)}
    </Field>
  );
}

export interface ChoiceProps {
  id: string;
  describedBy: string;
  options: readonly Option[];
  control: Control;
  /** The selection cannot be cleared. */
  required: boolean;
  placeholder: string;
}

const none = "none";
const other = "other";

function Native({ id, describedBy, options, control, required, placeholder }: ChoiceProps) {
  const chosen = optionOf(options, control.value);
  const empty = control.value === null || control.value === undefined;
  const value = chosen ? String(chosen.index) : empty ? none : other;
  const choose = (text: string) => control.set(text === none ? null : options[Number(text)]?.value);
  return (
    <select
      id={id}
      className={styles.input}
      aria-describedby={describedBy}
      disabled={control.why !== ""}
      title={control.why}
      value={value}
      onChange={(event) => choose(event.target.value)}
    >
      {(value === none || (!required && !optionOf(options, null))) && (
        <option value={none} disabled={required}>
          {placeholder || "—"}
        </option>
      )}
      {value === other && (
        <option value={other} disabled>
          {valueText(control.value)} (not an option)
        </option>
      )}
      {options.map((option) => (
        <option key={option.index} value={option.index}>
          {option.text}
        </option>
      ))}
    </select>
  );
}
