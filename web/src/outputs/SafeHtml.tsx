import { useLayoutEffect, useRef } from "react";
import styles from "./SafeHtml.module.css";
import { sanitizeHtml } from "./sanitize";

interface Props {
  /** Untrusted HTML. */
  html: string;
  className?: string | undefined;
  /** Changes the inserted nodes, for example renders formulas. If it rejects, a warning is logged. */
  onInserted?: (place: Element) => Promise<void>;
}

/** Shows untrusted HTML after sanitizing it. No other component inserts untrusted HTML into the page. */
export function SafeHtml({ html, className, onInserted }: Props) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    element.replaceChildren(sanitizedNodeOf(html));
    makeScrollableFocusable(element);
    onInserted?.(element).catch((error: unknown) => console.warn("rendered HTML could not be completed:", error));
  }, [html, onInserted]);
  return <div ref={place} className={`${styles.html} ${className ?? ""}`} />;
}

/** Returns HTML as safe nodes; as a text node if it cannot be sanitized, for example because it is nested too deeply. */
function sanitizedNodeOf(html: string): Node {
  try {
    return sanitizeHtml(html);
  } catch (error) {
    console.warn("HTML could not be sanitized and is shown as text:", error);
    return document.createTextNode(html);
  }
}

/** Makes the element, and each table in it, focusable and labelled if it scrolls, so that it can be scrolled by keyboard. */
function makeScrollableFocusable(element: Element): void {
  setAttributesIfScrollable(element, { tabindex: "0", role: "group", "aria-label": "Output" });
  for (const table of element.querySelectorAll("table.dataframe"))
    setAttributesIfScrollable(table, { tabindex: "0", "aria-label": "Table" });
}

/** Sets the attributes if the element's content is larger than its box, and removes them if it is not. */
function setAttributesIfScrollable(element: Element, wanted: Readonly<Record<string, string>>): void {
  const scrolls = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight;
  for (const [name, value] of Object.entries(wanted)) {
    if (scrolls) element.setAttribute(name, value);
    else element.removeAttribute(name);
  }
}
