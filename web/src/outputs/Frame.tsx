import { useEffect, useRef, useState } from "react";
import styles from "./Frame.module.css";
import { useNear } from "./near";
import { useShade } from "./theme";

interface Props {
  /** Which of the frames in public/frame. */
  page: "html" | "plot";
  /** What the frame is given to show, once: for something else there must be another frame. */
  content: Readonly<Record<string, unknown>>;
  /** What is shown in it, for screen readers. */
  title: string;
  /** In CSS pixels, until the frame has said how high it is. */
  height: number;
  /** The output that it belongs to, by which its height is remembered. */
  of: object;
}

/** Higher than this a frame scrolls inside. */
const highest = 2000;

/** How high a frame was, by its output, so that nothing jumps when it is loaded again. */
const heights = new WeakMap<object, number>();

/**
 * A frame in which the scripts of an output run. It has an origin of its own and
 * no network (the server's policy for /frame/ and the sandbox attribute say so),
 * gets what it shows through a port, and may say one thing: how high it is.
 * It is there while it is on the screen, and for a while after.
 */
export function Frame({ page, content, title, height, of }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const near = useNear(place);
  const [high, setHigh] = useState(() => heights.get(of) ?? height);
  const grow = (wanted: number) => {
    heights.set(of, wanted);
    setHigh(wanted);
  };
  return (
    <div ref={place} className={styles.place} style={{ height: high }}>
      {near && <Live page={page} content={content} title={title} onHeight={grow} />}
    </div>
  );
}

interface LiveProps extends Omit<Props, "height" | "of"> {
  onHeight: (height: number) => void;
}

function Live({ page, content, title, onHeight }: LiveProps) {
  const shade = useShade();
  const port = useRef<MessagePort | null>(null);
  const latest = useRef({ shade, onHeight });
  latest.current = { shade, onHeight };
  useEffect(() => {
    port.current?.postMessage({ theme: shade });
  }, [shade]);
  useEffect(() => () => port.current?.close(), []);
  const start = (frame: HTMLIFrameElement) => {
    if (port.current !== null) return; // it has gone elsewhere by itself, and gets nothing more
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = (event) => {
      const wanted = heightOf(event.data);
      if (wanted !== null) latest.current.onHeight(wanted);
    };
    port.current = port1;
    // The frame has no origin that could be named; the window is the one that was made here.
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

/** The height that a frame asks for, in bounds; null: what it said is something else. */
export function heightOf(data: unknown): number | null {
  const height = typeof data === "object" && data !== null && "height" in data ? data.height : null;
  if (typeof height !== "number" || !Number.isFinite(height)) return null;
  return Math.min(highest, Math.max(20, Math.ceil(height)));
}
