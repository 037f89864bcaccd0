import { useState } from "react";
import { formatBytes } from "../format/format";
import styles from "./Picture.module.css";
import { PictureDialog } from "./PictureDialog";

interface Props {
  /** A data: URL. Scripts in an SVG do not run in an <img>, and it fetches nothing. */
  src: string;
  /** What it shows, for those who do not see it. */
  alt: string;
  mime: string;
  /** How wide it is to be, in CSS pixels; null: as wide as it is. */
  width: number | null;
}

/** A picture that a click enlarges. */
export function Picture({ src, alt, mime, width }: Props) {
  const [broken, setBroken] = useState(false);
  const [open, setOpen] = useState(false);
  if (broken) {
    return (
      <p className={styles.broken}>
        This picture cannot be shown: its data is no valid {mime} ({formatBytes(src.length)}).
      </p>
    );
  }
  return (
    <>
      <button type="button" className={styles.picture} title="Enlarge" onClick={() => setOpen(true)}>
        <img src={src} alt={alt} onError={() => setBroken(true)} {...(width === null ? {} : { width })} />
      </button>
      {open && <PictureDialog src={src} alt={alt} onClose={() => setOpen(false)} />}
    </>
  );
}
