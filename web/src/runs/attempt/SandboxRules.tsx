import { plainName } from "../../text/displayText";
import styles from "./Overview.module.css";

/** Lists the sandbox rules that were enforced and those that this machine could not enforce. */
export function SandboxRules({ enforced }: { enforced: Readonly<Record<string, boolean>> }) {
  const names = Object.keys(enforced).sort();
  if (names.length === 0) return null;
  const held = names.filter((name) => enforced[name] === true);
  const open = names.filter((name) => enforced[name] !== true);
  return (
    <section aria-labelledby="sandbox">
      <h2 id="sandbox">Sandbox</h2>
      <p className={styles.held}>Enforced: {ruleListText(held)}.</p>
      <p className={styles.held}>
        Not enforced: <span className={open.length > 0 ? styles.warn : ""}>{ruleListText(open)}</span>.
      </p>
    </section>
  );
}

function ruleListText(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.map((name) => plainName(name.replaceAll("_", " "))).join(", ");
}
