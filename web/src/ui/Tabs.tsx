import { type KeyboardEvent, type ReactNode, useId } from "react";
import styles from "./Tabs.module.css";

/** A tab of Tabs: its id and what its button shows. */
export interface Tab {
  id: string;
  label: ReactNode;
}

interface Props {
  /** Name of the tab list for screen readers. */
  label: string;
  tabs: readonly Tab[];
  current: string;
  onChange: (id: string) => void;
  /** Content of the current tab. */
  children: ReactNode;
}

/** Renders a row of tabs and the content of the current one. The left and right arrow keys change the tab. */
export function Tabs({ label, tabs, current, onChange, children }: Props) {
  const prefix = useId();
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.id === current);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChange(next.id);
    document.getElementById(`${prefix}${next.id}`)?.focus();
  };
  return (
    <div className={styles.tabs}>
      <div role="tablist" aria-label={label} className={styles.list} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            type="button"
            key={tab.id}
            id={`${prefix}${tab.id}`}
            role="tab"
            aria-selected={tab.id === current}
            aria-controls={`${prefix}panel`}
            tabIndex={tab.id === current ? 0 : -1}
            className={styles.tab}
            onClick={() => onChange(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${prefix}panel`} aria-labelledby={`${prefix}${current}`} className={styles.panel}>
        {children}
      </div>
    </div>
  );
}
