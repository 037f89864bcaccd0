import X from "lucide-react/icons/x";
import { useId } from "react";
import type { TraceSource } from "../api/client";
import { isPixelSize, useStored } from "../browser/useStored";
import { IconButton } from "../ui/Button";
import { Splitter } from "../ui/Splitter";
import styles from "./FlowDrawer.module.css";
import MessagesView from "./MessagesView";

const minHeightPx = 160;

interface Props {
  source: TraceSource;
  /** A new number means that a new session may have begun. */
  renew?: number;
  onClose: () => void;
}

/** A drawer with the messages at the bottom of the console. Its height is saved in the browser. */
export default function MessagesDrawer({ source, renew = 0, onClose }: Props) {
  const id = useId();
  const [height, setHeight] = useStored("flow.height", 360, isPixelSize);
  const most = Math.max(minHeightPx, Math.round(window.innerHeight * 0.8));
  const now = Math.min(height, most);
  return (
    <>
      <Splitter
        label="Height of the messages"
        orientation="horizontal"
        controls={id}
        size={now}
        min={minHeightPx}
        max={most}
        onSize={setHeight}
      />
      <section id={id} className={styles.drawer} aria-label="Messages" style={{ height: now }}>
        <header className={styles.head}>
          <h2>Messages</h2>
          <IconButton label="Close messages" onClick={onClose}>
            <X />
          </IconButton>
        </header>
        <div className={styles.body}>
          <MessagesView source={source} renew={renew} />
        </div>
      </section>
    </>
  );
}
