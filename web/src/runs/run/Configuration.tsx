import { isObject } from "../../json/values";
import type { RunHost } from "../../protocol/api.gen";
import { plainName } from "../../text/displayText";
import styles from "./Configuration.module.css";

/**
 * A collapsed section with a run's configuration (run.json), the limits set on the command line,
 * and the machine.
 */
export function Configuration({ config, host }: { config: unknown; host: RunHost }) {
  return (
    <details className={styles.configuration}>
      <summary>Configuration and machine</summary>
      <div className={styles.columns}>
        <ConfigurationValues heading="Configuration" values={configurationRows(config)} />
        <ConfigurationValues
          heading="Limits set on the command line"
          values={configurationRows(commandLineLimits(config))}
        />
        <ConfigurationValues heading="Machine" values={configurationRows(host)} />
      </div>
    </details>
  );
}

function commandLineLimits(config: unknown): object {
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

/**
 * Returns the fields of an object as names and texts. Leaves out empty fields, and limits, which
 * are shown separately.
 */
function configurationRows(fields: unknown): (readonly [string, string])[] {
  return Object.entries(isObject(fields) ? fields : {})
    .filter(([name, value]) => name !== "limits" && !isEmptyValue(value))
    .map(
      ([name, value]) => [name, plainName(typeof value === "string" ? value : (JSON.stringify(value) ?? ""))] as const,
    );
}

function isEmptyValue(value: unknown): boolean {
  return value === null || value === "" || (typeof value === "object" && Object.values(value).every(isZeroOrEmpty));
}

function isZeroOrEmpty(value: unknown): boolean {
  return value === null || value === "" || value === 0;
}
