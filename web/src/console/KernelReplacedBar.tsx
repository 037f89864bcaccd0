import History from "lucide-react/icons/rotate-ccw-clock";
import { useState } from "react";
import { useSelect } from "../store/store";
import { Button } from "../ui/Button";
import styles from "./Bar.module.css";
import { showsOutputsOfOlderKernel } from "./kernelState";

/**
 * Shows a notice if some outputs come from an earlier kernel. It stays until it is dismissed or all cells
 * have run again. pid is the process id of the current kernel; 0: unknown.
 */
export function KernelReplacedBar({ pid }: { pid: number }) {
  const older = useSelect(showsOutputsOfOlderKernel);
  const [read, setRead] = useState(0);
  if (!older || pid === 0 || pid === read) return null;
  return (
    <div className={styles.bar} role="status">
      <History aria-hidden="true" />
      <p>
        <strong>The kernel was replaced.</strong> All variables are lost. Cells show outputs of the previous kernel
        until they run again.
      </p>
      <Button onClick={() => setRead(pid)}>Dismiss</Button>
    </div>
  );
}
