import { useLayoutEffect, useRef } from "react";
import styles from "./SafeHtml.module.css";
import { sanitize } from "./sanitize";

interface Props {
  /** Anybody's HTML. */
  html: string;
  className?: string | undefined;
  /** Does something with what was put in; a fault of it leaves that as it is. */
  refine?: (place: Element) => Promise<void>;
}

/** The one component that puts a stranger's HTML into the page: sanitised, as nodes. */
export function SafeHtml({ html, className, refine }: Props) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    element.replaceChildren(nodesOf(html));
    reachable(element);
    refine?.(element).catch((error: unknown) => console.warn("an output could not be refined:", error));
  }, [html, refine]);
  return <div ref={place} className={`${styles.html} ${className ?? ""}`} />;
}

/** What cannot be sanitised, such as nests of many thousands of elements, is shown as its text. */
function nodesOf(html: string): Node {
  try {
    return sanitize(html);
  } catch (error) {
    console.warn("HTML could not be sanitised and is shown as text:", error);
    return document.createTextNode(html);
  }
}

/** What scrolls must be reached by keyboard, and have a name then: all of it, or a table in it. */
function reachable(element: Element): void {
  nameIfScrolls(element, { tabindex: "0", role: "group", "aria-label": "Output" });
  for (const table of element.querySelectorAll("table.dataframe"))
    nameIfScrolls(table, { tabindex: "0", "aria-label": "Table" });
}

function nameIfScrolls(element: Element, wanted: Readonly<Record<string, string>>): void {
  const scrolls = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight;
  for (const [name, value] of Object.entries(wanted)) {
    if (scrolls) element.setAttribute(name, value);
    else element.removeAttribute(name);
  }
}
