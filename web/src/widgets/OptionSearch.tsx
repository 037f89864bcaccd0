import { type KeyboardEvent, useDeferredValue, useEffect, useId, useMemo, useState } from "react";
import styles from "./OptionPicker.module.css";
import { searchOptions, type WidgetOption } from "./options";

const maxShownOptions = 200; // options drawn at once

interface Props {
  options: readonly WidgetOption[];
  /** JSON of the selected option's value; undefined if none is selected. */
  chosen: string | undefined;
  onChoose: (option: WidgetOption) => void;
}

/** Renders a list of options with a search box. Arrow keys move through the list, Enter selects. */
export function OptionSearch({ options, chosen, onChoose }: Props) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const wanted = useDeferredValue(words);
  const found = useMemo(() => searchOptions(options, wanted), [options, wanted]);
  const shown = found.slice(0, maxShownOptions);
  const active = shown[Math.min(at, shown.length - 1)];
  useEffect(() => {
    if (active) document.getElementById(`${id}${active.index}`)?.scrollIntoView?.({ block: "nearest" });
  }, [active, id]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (step !== undefined) setAt(Math.min(shown.length - 1, Math.max(0, at + step)));
    else if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    else if (active) onChoose(active);
    event.preventDefault();
  };
  return (
    <div className={styles.search}>
      <input
        // biome-ignore lint/a11y/noAutofocus: the user has just opened it to type
        autoFocus
        className={styles.searchBox}
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={active && `${id}${active.index}`}
        aria-label="Search the options"
        placeholder="Search"
        value={words}
        onChange={(event) => {
          setWords(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={id} role="listbox" aria-label="Options" className={styles.list}>
        {shown.map((option, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the search box, which has the focus, handles the keys
          <div
            key={option.index}
            id={`${id}${option.index}`}
            role="option"
            tabIndex={-1}
            aria-selected={option.json === chosen}
            className={option === active ? styles.active : styles.option}
            onPointerMove={() => setAt(place)}
            onClick={() => onChoose(option)}
          >
            {option.text}
          </div>
        ))}
      </div>
      <p className={styles.count} role="status">
        {optionCountText(found.length, options.length)}
      </p>
    </div>
  );
}

/** Returns a text with the number of options that match a search. */
export function optionCountText(found: number, all: number): string {
  const of =
    found === all
      ? `${all.toLocaleString("en")} options`
      : `${found.toLocaleString("en")} of ${all.toLocaleString("en")} options`;
  return found > maxShownOptions ? `${of}, the first ${maxShownOptions} are shown. Search for the others.` : of;
}
