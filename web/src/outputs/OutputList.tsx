import type { Output } from "../protocol/messages";
import styles from "./Outputs.module.css";
import { OutputView } from "./OutputView";

/** Outputs that are at hand, such as those of a stored notebook. */
export function OutputList({ outputs }: { outputs: readonly Output[] }) {
  if (!Array.isArray(outputs) || outputs.length === 0) return null;
  return (
    <div className={styles.outputs}>
      {outputs.map((output, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an output is known by its place
        <OutputView key={index} output={output} number={index + 1} />
      ))}
    </div>
  );
}
