import X from "lucide-react/icons/x";
import { useId } from "react";
import type { TraceSource } from "../api/client";
import { isPixelSize, useStored } from "../browser/useStored";
import { IconButton } from "../ui/Button";
import { Splitter } from "../ui/Splitter";
import Flow from "./Flow";
import styles from "./FlowDrawer.module.css";

const smallest = 160;

interface Props {
  source: TraceSource;
  /** Another number when another session may have begun. */
  renew?: number;
  onClose: () => void;
}

/** The flow of messages at the bottom of the console, as high as it was made last. */
export default function FlowDrawer({ source, renew = 0, onClose }: Props) {
  const id = useId();
  const [height, setHeight] = useStored("flow.height", 360, isPixelSize);
  const most = Math.max(smallest, Math.round(window.innerHeight * 0.8));
  const now = Math.min(height, most);
  return (
    <>
      <Splitter
        label="Height of the flow of messages"
        orientation="horizontal"
        controls={id}
        size={now}
        min={smallest}
        max={most}
        onSize={setHeight}
      />
      <section id={id} className={styles.drawer} aria-label="Flow of messages" style={{ height: now }}>
        <header className={styles.head}>
          <h2>Flow of messages</h2>
          <IconButton label="Close the flow of messages" onClick={onClose}>
            <X />
          </IconButton>
        </header>
        <div className={styles.body}>
          <Flow source={source} renew={renew} />
        </div>
      </section>
    </>
  );
}
