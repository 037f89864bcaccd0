import { useMemo } from "react";
import { Button } from "../ui/Button";
import { Field } from "./Field";
import styles from "./Field.module.css";
import { Note } from "./Note";
import { OptionPicker } from "./OptionPicker";
import { optionOf, optionsOf } from "./options";
import { many } from "./Select";
import { valueText } from "./text";
import { useSetting } from "./useSetting";
import type { WidgetProps } from "./WidgetView";

/** A group of radio buttons for one of several options. */
export function Radio({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useSetting(cellId, widgetKey, widget);
  const options = useMemo(() => optionsOf(widget), [widget]);
  const chosen = optionOf(options, control.value);
  const empty = control.value === null || control.value === undefined;
  const required = widget.required === true;
  if (options.length > many) {
    return (
      <Field widgetKey={widgetKey} widget={widget} control={control}>
        {(ids) => <OptionPicker {...ids} options={options} control={control} required={required} placeholder="" />}
      </Field>
    );
  }
  return (
    <Field widgetKey={widgetKey} widget={widget} control={control} group>
      {({ id }) => (
        <>
          <div className={widget.direction === "vertical" ? styles.vertical : styles.horizontal}>
            {options.map((option) => (
              <label key={option.index} className={styles.choice} title={control.why}>
                <input
                  type="radio"
                  name={id}
                  checked={option === chosen}
                  disabled={control.why !== ""}
                  onChange={() => control.set(option.value)}
                />
                <span>{option.text}</span>
              </label>
            ))}
            {!required && chosen && control.why === "" && !optionOf(options, null) && (
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
