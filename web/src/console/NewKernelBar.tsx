import History from "lucide-react/icons/rotate-ccw-clock";
import { useState } from "react";
import { useSelect } from "../store/store";
import { Button } from "../ui/Button";
import styles from "./Bar.module.css";
import { showsOutputsOfOlderKernel } from "./kernelState";

/**
 * A notice that outputs come from an earlier kernel. It stays until it is dismissed or all cells
 * have run again.
 */
export function NewKernelBar({ pid }: { pid: number }) {
  const older = useSelect(showsOutputsOfOlderKernel);
  const [read, setRead] = useState(0);
  if (!older || pid === 0 || pid === read) return null;
  return (
    <div className={styles.bar} role="status">
      <History aria-hidden="true" />
      <p>
        <strong>The kernel is new.</strong> It holds none of the values from before. Outputs shown are of the kernel
        before it until their cells are run again.
      </p>
      <Button onClick={() => setRead(pid)}>Dismiss</Button>
    </div>
  );
}
