import ChevronDown from "lucide-react/icons/chevron-down";
import { type KeyboardEvent, useRef, useState } from "react";
import { Button } from "../ui/Button";
import styles from "./OptionPicker.module.css";
import { OptionSearch } from "./OptionSearch";
import { findOption, type WidgetOption } from "./options";
import type { SingleChoiceProps } from "./Select";
import { valueText } from "./valueText";

/** Renders a button that shows the selected option and opens a searchable list of all options. */
export function OptionPicker({ id, describedBy, options, control, required, placeholder }: SingleChoiceProps) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const chosen = findOption(options, control.value);
  const empty = control.value === null || control.value === undefined;
  const other = empty ? placeholder || "—" : `${valueText(control.value)} (not an option)`;
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const choose = (option: WidgetOption) => {
    control.set(option.value);
    close();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !open) return;
    event.stopPropagation();
    close();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the list wherever the focus is in it
    <div className={styles.picker} onKeyDown={onKeyDown}>
      <button
        type="button"
        id={id}
        ref={button}
        className={styles.button}
        aria-describedby={describedBy}
        aria-expanded={open}
        disabled={control.disabledReason !== ""}
        title={control.disabledReason}
        onClick={() => setOpen(!open)}
      >
        <span>{chosen?.text ?? other}</span>
        <ChevronDown aria-hidden />
      </button>
      {open && <OptionSearch options={options} chosen={chosen?.json} onChoose={choose} />}
      {open && !required && !empty && (
        <Button
          variant="quiet"
          onClick={() => {
            control.set(null);
            close();
          }}
        >
          Choose none
        </Button>
      )}
    </div>
  );
}
