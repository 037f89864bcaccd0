import { useDeferredValue, useMemo, useState } from "react";
import { anyList, read } from "../json/schema";
import { Button } from "../ui/Button";
import { Field } from "./Field";
import fieldStyles from "./Field.module.css";
import styles from "./MultiSelect.module.css";
import { Note } from "./Note";
import { optionsOf, searchOptions, type WidgetOption } from "./options";
import { useWidgetControl } from "./useWidgetControl";
import { jsonText, valueText } from "./valueText";
import type { WidgetProps } from "./WidgetView";

const maxShownOptions = 200; // options drawn at once
const maxOptionsWithoutSearch = 12; // up to this many options there is no search box

/** Renders a multi_select widget: checkboxes for its options, with a search box if there are more than 12. */
export function MultiSelect({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useWidgetControl(cellId, widgetKey, widget);
  const options = useMemo(() => optionsOf(widget), [widget]);
  const [words, setWords] = useState("");
  const wanted = useDeferredValue(words);
  const found = useMemo(() => searchOptions(options, wanted), [options, wanted]);
  const { chosen, strangers } = useSelectedOptions(control.value, options);
  const off = control.disabledReason !== "";
  const setSome = (some: readonly WidgetOption[], on: boolean) => {
    const changed = new Set(some.map((option) => option.json));
    const all = withoutDuplicates(options).filter(({ json }) => (changed.has(json) ? on : chosen.has(json)));
    control.set(all.map((option) => option.value));
  };
  const searched = options.length > maxOptionsWithoutSearch;
  return (
    <Field widgetKey={widgetKey} widget={widget} control={control} isGroup>
      {() => (
        <>
          {searched && (
            <div className={styles.bar}>
              <input
                className={fieldStyles.input}
                aria-label="Search the options"
                placeholder="Search"
                value={words}
                onChange={(event) => setWords(event.target.value)}
              />
              <Button disabled={off} onClick={() => setSome(found, true)}>
                Choose {words === "" ? "all" : "these"}
              </Button>
              <Button disabled={off} onClick={() => setSome(found, false)}>
                {words === "" ? "None" : "Not these"}
              </Button>
            </div>
          )}
          <div className={searched ? styles.list : fieldStyles.horizontal}>
            {found.slice(0, maxShownOptions).map((option) => (
              <label key={option.index} className={fieldStyles.choice} title={control.disabledReason}>
                <input
                  type="checkbox"
                  checked={chosen.has(option.json)}
                  disabled={off}
                  onChange={(event) => setSome([option], event.target.checked)}
                />
                <span>{option.text}</span>
              </label>
            ))}
          </div>
          {searched && <Note>{selectionCountText(chosen.size, found.length, options.length)}</Note>}
          {options.length === 0 && <Note>There are no options.</Note>}
          {strangers !== "" && <Note>{strangers}</Note>}
        </>
      )}
    </Field>
  );
}

/** Returns the selected options as JSON, and a message if the value is not a list of options. */
function useSelectedOptions(value: unknown, options: readonly WidgetOption[]) {
  return useMemo(() => {
    const known = new Set(options.map((option) => option.json));
    const values = read(anyList, value);
    const chosen = new Set(values.map((item) => jsonText(item)).filter((json) => known.has(json)));
    const stranger = values.find((item) => !known.has(jsonText(item)));
    const wrong = value !== null && value !== undefined && !Array.isArray(value);
    const odd = wrong ? value : stranger;
    return { chosen, strangers: odd === undefined ? "" : `${valueText(odd)} is not an option.` };
  }, [value, options]);
}

/** Returns the options, only the last one of those with equal values. */
function withoutDuplicates(options: readonly WidgetOption[]): WidgetOption[] {
  return [...new Map(options.map((option) => [option.json, option])).values()];
}

/** Returns a text with the numbers of selected, found and all options. */
function selectionCountText(chosen: number, found: number, all: number): string {
  const number = (n: number) => n.toLocaleString("en");
  const text = `${number(chosen)} of ${number(all)} chosen.`;
  if (found > maxShownOptions)
    return `${text} The first ${maxShownOptions} of ${number(found)} are shown. Search for the others.`;
  return found < all ? `${text} ${number(found)} found.` : text;
}
