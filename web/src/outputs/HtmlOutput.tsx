import { useMemo } from "react";
import { Frame } from "./Frame";
import { needsOf } from "./html";
import { withoutTracks } from "./hush";
import styles from "./Outputs.module.css";
import { SafeHtml } from "./SafeHtml";

/** HTML that is larger, in UTF-16 units, goes into a frame unseen: there it may take its time. */
const large = 300_000;

/** HTML of an output: in the page where it needs neither scripts nor styles, else in a frame. */
export function HtmlOutput({ html, of }: { html: string; of: object }) {
  const needs = useMemo(() => (html.length > large ? { frame: true, outside: [] } : needsOf(html)), [html]);
  const content = useMemo(() => ({ html: withoutTracks(html) }), [html]);
  return (
    <>
      {needs.frame ? (
        <Frame key={html} page="html" content={content} title="HTML output" height={120} of={of} />
      ) : (
        <SafeHtml html={html} />
      )}
      {needs.outside.length > 0 && (
        <p className={styles.note}>Nothing is fetched for an output. Not loaded: {needs.outside.join(", ")}</p>
      )}
    </>
  );
}
