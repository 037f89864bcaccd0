import { useMemo } from "react";
import { Button } from "../ui/Button";
import { Field } from "./Field";
import styles from "./Field.module.css";
import { Note } from "./Note";
import { OptionPicker } from "./OptionPicker";
import { findOption, optionsOf } from "./options";
import { maxNativeOptions } from "./Select";
import { useWidgetControl } from "./useWidgetControl";
import { valueText } from "./valueText";
import type { WidgetProps } from "./WidgetView";

/** Renders a radio widget as radio buttons, or as an OptionPicker if it has more than 60 options. */
export function RadioButtons({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useWidgetControl(cellId, widgetKey, widget);
  const options = useMemo(() => optionsOf(widget), [widget]);
  const chosen = findOption(options, control.value);
  const empty = control.value === null || control.value === undefined;
  const required = widget.required === true;
  if (options.length > maxNativeOptions) {
    return (
      <Field widgetKey={widgetKey} widget={widget} control={control}>
        {(ids) => <OptionPicker {...ids} options={options} control={control} required={required} placeholder="" />}
      </Field>
    );
  }
  return (
    <Field widgetKey={widgetKey} widget={widget} control={control} isGroup>
      {({ id }) => (
        <>
          <div className={widget.direction === "vertical" ? styles.vertical : styles.horizontal}>
            {options.map((option) => (
              <label key={option.index} className={styles.choice} title={control.disabledReason}>
                <input
                  type="radio"
                  name={id}
                  checked={option === chosen}
                  disabled={control.disabledReason !== ""}
                  onChange={() => control.set(option.value)}
                />
                <span>{option.text}</span>
              </label>
            ))}
            {!required && chosen && control.disabledReason === "" && !findOption(options, null) && (
              <Button variant="quiet" onClick={() => control.set(null)}>
                Choose none
              </Button>
            )}
          </div>
          {options.length === 0 && <Note>There are no options.</Note>}
          {!chosen && !empty && <Note>{valueText(control.value)} is not an option.</Note>}
        </>
      )}
    </Field>
  );
}
