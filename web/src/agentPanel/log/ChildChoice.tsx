import { useId } from "react";
import styles from "./Log.module.css";
import { type Child, children } from "./printed";

const names: Readonly<Record<Child, string>> = { agent: "Agent", kernel: "Kernel" };

/** Whose words are shown. */
export function ChildChoice({ child, onChoose }: { child: Child; onChoose: (child: Child) => void }) {
  const group = useId();
  return (
    <fieldset className={styles.choice}>
      <legend className="visually-hidden">Whose log</legend>
      {children.map((one) => (
        <label key={one}>
          <input type="radio" name={group} checked={one === child} onChange={() => onChoose(one)} />
          {names[one]}
        </label>
      ))}
    </fieldset>
  );
}
