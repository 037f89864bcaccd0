import { useState } from "react";
import { formatBytes } from "../format/format";
import styles from "./Picture.module.css";
import { PictureDialog } from "./PictureDialog";

interface Props {
  /** A data: URL. In an <img>, scripts of an SVG do not run, and it loads nothing. */
  src: string;
  /** Alternative text. */
  alt: string;
  mime: string;
  /** Width in CSS pixels; null: the picture's natural width. */
  width: number | null;
}

/** Shows a picture, which a click enlarges, or an error if the browser cannot decode it. */
export function Picture({ src, alt, mime, width }: Props) {
  const [broken, setBroken] = useState(false);
  const [open, setOpen] = useState(false);
  if (broken) {
    return (
      <p className={styles.broken}>
        This picture cannot be shown: its data is not a valid {mime} ({formatBytes(src.length)}).
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
