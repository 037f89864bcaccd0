import type { Output } from "../protocol/messages";
import styles from "./Outputs.module.css";
import { OutputView } from "./OutputView";

/** Shows a list of nbformat outputs; nothing if it is empty or not a list. */
export function OutputList({ outputs }: { outputs: readonly Output[] }) {
  if (!Array.isArray(outputs) || outputs.length === 0) return null;
  return (
    <div className={styles.outputs}>
      {outputs.map((output, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: outputs have no key but their position
        <OutputView key={index} output={output} number={index + 1} />
      ))}
    </div>
  );
}
