import { useState } from "react";
import styles from "./Outputs.module.css";

interface Props {
  kind: "audio" | "video";
  /** A data: URL. */
  src: string;
  mime: string;
}

/** Shows an audio or video player, which starts when the user presses play. */
export function MediaPlayer({ kind: Kind, src, mime }: Props) {
  const [broken, setBroken] = useState(false);
  if (broken) return <p className={styles.note}>This browser cannot play {mime}.</p>;
  return <Kind className={styles.media} src={src} controls preload="metadata" onError={() => setBroken(true)} />;
}
