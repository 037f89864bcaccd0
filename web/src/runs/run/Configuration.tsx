import { isObject } from "../../json/values";
import type { RunHost } from "../../protocol/api.gen";
import { plainName } from "../../text/displayText";
import styles from "./Configuration.module.css";

/** What a run was made with: its configuration and the machine, folded. */
export function Configuration({ config, host }: { config: unknown; host: RunHost }) {
  return (
    <details className={styles.configuration}>
      <summary>Configuration and machine</summary>
      <div className={styles.columns}>
        <ConfigurationValues heading="Configuration" values={rows(config)} />
        <ConfigurationValues heading="Limits set on the command line" values={rows(limitsOf(config))} />
        <ConfigurationValues heading="Machine" values={rows(host)} />
      </div>
    </details>
  );
}

function limitsOf(config: unknown): object {
  const limits = isObject(config) && isObject(config.limits) ? config.limits : {};
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== 0));
}

function ConfigurationValues({ heading, values }: { heading: string; values: readonly (readonly [string, string])[] }) {
  return (
    <section>
      <h3>{heading}</h3>
      {values.length === 0 && <p>none</p>}
      <dl>
        {values.map(([name, value]) => (
          <div key={name}>
            <dt>{plainName(name)}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Names and values as texts; those that say nothing are left out, and limits, which stand by themselves. */
function rows(fields: unknown): (readonly [string, string])[] {
  return Object.entries(isObject(fields) ? fields : {})
    .filter(([name, value]) => name !== "limits" && !isEmptyValue(value))
    .map(
      ([name, value]) => [name, plainName(typeof value === "string" ? value : (JSON.stringify(value) ?? ""))] as const,
    );
}

function isEmptyValue(value: unknown): boolean {
  return value === null || value === "" || (typeof value === "object" && Object.values(value).every(isZero));
}

function isZero(value: unknown): boolean {
  return value === null || value === "" || value === 0;
}
