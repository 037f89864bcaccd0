import { useState } from "react";
import styles from "./Outputs.module.css";

interface Props {
  kind: "audio" | "video";
  /** A data: URL. */
  src: string;
  mime: string;
}

/** Sound or a film, played when it is asked for. */
export function Media({ kind: Kind, src, mime }: Props) {
  const [broken, setBroken] = useState(false);
  if (broken) return <p className={styles.note}>This browser cannot play it: {mime}.</p>;
  return <Kind className={styles.media} src={src} controls preload="metadata" onError={() => setBroken(true)} />;
}
