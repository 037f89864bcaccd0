import { useEffect, useRef, useState } from "react";
import styles from "./SandboxedFrame.module.css";
import { useEffectiveTheme } from "./useEffectiveTheme";
import { useNearViewport } from "./useNearViewport";

interface Props {
  /** Name of the frame's document in public/frame, without ".html". */
  page: "html" | "plot";
  /** The message that the frame receives once, when it is loaded. To show other content, mount another frame (with another key). */
  content: Readonly<Record<string, unknown>>;
  /** Description of the content for screen readers. */
  title: string;
  /** Height in CSS pixels until the frame has reported its height. */
  height: number;
  /** Identifies the output: a frame that shows it again starts with the height it had before. */
  outputKey: object;
}

/** Maximum height of a frame in CSS pixels; higher content scrolls inside it. */
const maxFrameHeight = 2000;

/** The last reported height of each output's frame in CSS pixels, so that the page does not jump when the frame is loaded again. */
const rememberedHeights = new WeakMap<object, number>();

/**
 * Shows the content of an output in a frame where its scripts may run. The sandbox attribute and the
 * server's policy for /frame/ give the frame an opaque origin and no network. It receives its
 * content by one message and can only send back its height. It is mounted while
 * it is near the viewport, and for a minute after.
 */
export function SandboxedFrame({ page, content, title, height, outputKey }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const near = useNearViewport(container);
  const [high, setHigh] = useState(() => rememberedHeights.get(outputKey) ?? height);
  const grow = (wanted: number) => {
    rememberedHeights.set(outputKey, wanted);
    setHigh(wanted);
  };
  return (
    <div ref={container} className={styles.container} style={{ height: high }}>
      {near && <MountedFrame page={page} content={content} title={title} onHeight={grow} />}
    </div>
  );
}

interface MountedFrameProps extends Omit<Props, "height" | "outputKey"> {
  /** Receives each height that the frame reports, in CSS pixels. */
  onHeight: (height: number) => void;
}

/** Renders the iframe, sends it the content and the theme, and receives its height. */
function MountedFrame({ page, content, title, onHeight }: MountedFrameProps) {
  const shade = useEffectiveTheme();
  const port = useRef<MessagePort | null>(null);
  const latest = useRef({ shade, onHeight });
  latest.current = { shade, onHeight };
  useEffect(() => {
    port.current?.postMessage({ theme: shade });
  }, [shade]);
  useEffect(() => () => port.current?.close(), []);
  const start = (frame: HTMLIFrameElement) => {
    if (port.current !== null) return; // loaded again: the frame has navigated by itself, and gets no content
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = (event) => {
      const wanted = requestedHeightOf(event.data);
      if (wanted !== null) latest.current.onHeight(wanted);
    };
    port.current = port1;
    // "*", because the opaque origin of the frame cannot be named.
    frame.contentWindow?.postMessage({ ...content, theme: latest.current.shade }, "*", [port2]);
  };
  return (
    <iframe
      className={styles.frame}
      src={`/frame/${page}.html`}
      title={title}
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      allow=""
      onLoad={(event) => start(event.currentTarget)}
    />
  );
}

/** Returns the height in a frame's message, rounded up and limited to 20 to 2000 CSS pixels; null if the message has no finite height. */
export function requestedHeightOf(data: unknown): number | null {
  const height = typeof data === "object" && data !== null && "height" in data ? data.height : null;
  if (typeof height !== "number" || !Number.isFinite(height)) return null;
  return Math.min(maxFrameHeight, Math.max(20, Math.ceil(height)));
}
