import { plainName } from "../../text/displayText";
import styles from "./Overview.module.css";

/** Which rules of the sandbox were held, and which this machine could not hold. */
export function Enforced({ enforced }: { enforced: Readonly<Record<string, boolean>> }) {
  const names = Object.keys(enforced).sort();
  if (names.length === 0) return null;
  const held = names.filter((name) => enforced[name] === true);
  const open = names.filter((name) => enforced[name] !== true);
  return (
    <section aria-labelledby="sandbox">
      <h2 id="sandbox">Sandbox</h2>
      <p className={styles.held}>Held: {listed(held)}.</p>
      <p className={styles.held}>
        Not held: <span className={open.length > 0 ? styles.warn : ""}>{listed(open)}</span>.
      </p>
    </section>
  );
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.map((name) => plainName(name.replaceAll("_", " "))).join(", ");
}
