import { useEffect, useRef } from "react";
import { loadTypeset } from "./math";
import styles from "./Outputs.module.css";

/** TeX of an output, as text/latex has it: between dollars or in an environment. What cannot be drawn is shown as it is. */
export function Tex({ source }: { source: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let gone = false;
    loadTypeset()
      .then((typeset) => {
        const math = typeset(source, true);
        if (!gone && math instanceof Element) place.current?.replaceChildren(math);
      })
      .catch(() => undefined); // the source stays to be read
    return () => {
      gone = true;
    };
  }, [source]);
  return (
    <div ref={place} key={source} className={styles.tex}>
      {source}
    </div>
  );
}
