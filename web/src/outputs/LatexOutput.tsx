import { useEffect, useRef } from "react";
import { loadFormulaTypesetter } from "./math";
import styles from "./Outputs.module.css";

/** Renders a text/latex output, with delimiters or an environment around it. Invalid TeX is shown as source. */
export function LatexOutput({ source }: { source: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let gone = false;
    loadFormulaTypesetter()
      .then((typeset) => {
        const math = typeset(source, true);
        if (!gone && math instanceof Element) place.current?.replaceChildren(math);
      })
      .catch(() => undefined); // the source stays visible
    return () => {
      gone = true;
    };
  }, [source]);
  return (
    <div ref={place} key={source} className={styles.latex}>
      {source}
    </div>
  );
}
