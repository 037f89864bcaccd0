import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Field } from "./Field";
import styles from "./Field.module.css";
import { useWidgetControl } from "./useWidgetControl";
import { jsonText } from "./valueText";
import type { WidgetProps } from "./WidgetView";
import { appearanceTextsOf } from "./widgetTexts";

const typingDelay = 500; // milliseconds after the last key until the text is sent

/** Renders a text_input widget. The text is sent on Enter, when the input loses the focus, and when typing pauses for 500 ms. */
export function TextInput({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useWidgetControl(cellId, widgetKey, widget);
  const [draft, setDraft] = useState<string | null>(null);
  const [composing, setComposing] = useState(false);
  const text = draft ?? inputTextOf(control.value);
  const lines = useRef(false); // an input that has had several lines stays a text area
  lines.current ||= text.includes("\n");
  const send = useRef(() => {});
  send.current = () => {
    if (draft === null) return;
    if (draft !== control.value) control.set(draft);
    setDraft(null);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: each key changes the draft and restarts the timer
  useEffect(() => {
    if (composing) return;
    const timer = setTimeout(() => send.current(), typingDelay);
    return () => clearTimeout(timer);
  }, [draft, composing]);
  useEffect(() => () => send.current(), []);
  const shared = {
    className: styles.input,
    disabled: control.disabledReason !== "",
    title: control.disabledReason,
    placeholder: appearanceTextsOf(widget).placeholder,
    value: text,
    onBlur: () => send.current(),
    onCompositionStart: () => setComposing(true),
    onCompositionEnd: () => setComposing(false),
  };
  const onEnter = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.nativeEvent.isComposing) send.current();
  };
  return (
    <Field widgetKey={widgetKey} widget={widget} control={control}>
      {({ id, describedBy }) =>
        lines.current ? (
          <textarea
            {...shared}
            id={id}
            aria-describedby={describedBy}
            rows={Math.min(8, text.split("\n", 8).length + 1)}
            onChange={(event) => setDraft(event.target.value)}
          />
        ) : (
          <input
            {...shared}
            type="text"
            id={id}
            aria-describedby={describedBy}
            onKeyDown={onEnter}
            onChange={(event) => setDraft(event.target.value)}
          />
        )
      }
    </Field>
  );
}

/** Returns a widget's value as the text of an input: "" for none, JSON if it is not a string. */
function inputTextOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : jsonText(value);
}
