import { useMemo } from "react";
import { Field } from "./Field";
import styles from "./Field.module.css";
import { OptionPicker } from "./OptionPicker";
import { findOption, optionsOf, type WidgetOption } from "./options";
import { useWidgetControl, type WidgetControl } from "./useWidgetControl";
import { valueText } from "./valueText";
import type { WidgetProps } from "./WidgetView";
import { appearanceTextsOf } from "./widgetTexts";

/** How many options a native select or radio group may have; for more options, a searchable list is used. */
export const maxNativeOptions = 60;

/** Renders a select widget, which selects one of several options, or none. */
export function Select({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useWidgetControl(cellId, widgetKey, widget);
  const options = useMemo(() => optionsOf(widget), [widget]);
  const { placeholder } = appearanceTextsOf(widget);
  const props = { options, control, required: widget.required === true, placeholder };
  return (
    <Field widgetKey={widgetKey} widget={widget} control={control}>
      {(ids) =>
        options.length > maxNativeOptions ? <OptionPicker {...props} {...ids} /> : <NativeSelect {...props} {...ids} />
      }
    </Field>
  );
}

/** The props of a control that selects one option. */
export interface SingleChoiceProps {
  id: string;
  describedBy: string;
  options: readonly WidgetOption[];
  control: WidgetControl;
  /** Whether the selection cannot be cleared. */
  required: boolean;
  placeholder: string;
}

/** Values of the options of the native select that stand for no selection and for a value that is not an option. */
const noSelectionOptionValue = "none";
const unknownOptionValue = "other";

/** Renders a select element. Its option values are the indexes of the options. */
function NativeSelect({ id, describedBy, options, control, required, placeholder }: SingleChoiceProps) {
  const chosen = findOption(options, control.value);
  const empty = control.value === null || control.value === undefined;
  const value = chosen ? String(chosen.index) : empty ? noSelectionOptionValue : unknownOptionValue;
  const choose = (text: string) => control.set(text === noSelectionOptionValue ? null : options[Number(text)]?.value);
  return (
    <select
      id={id}
      className={styles.input}
      aria-describedby={describedBy}
      disabled={control.disabledReason !== ""}
      title={control.disabledReason}
      value={value}
      onChange={(event) => choose(event.target.value)}
    >
      {(value === noSelectionOptionValue || (!required && !findOption(options, null))) && (
        <option value={noSelectionOptionValue} disabled={required}>
          {placeholder || "—"}
        </option>
      )}
      {value === unknownOptionValue && (
        <option value={unknownOptionValue} disabled>
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
