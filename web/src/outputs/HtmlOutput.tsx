import { useMemo } from "react";
import { htmlRequirementsOf } from "./htmlRequirements";
import { maskTrackSources } from "./maskHtml";
import styles from "./Outputs.module.css";
import { SafeHtml } from "./SafeHtml";
import { SandboxedFrame } from "./SandboxedFrame";

/** Length in UTF-16 units of the longest HTML that is inspected. Longer HTML always goes into a frame, because inspecting it would block the page. */
const maxInspectedHtmlLength = 300_000;

/** Shows HTML of an output: sanitized in the page, or in a sandboxed frame if it needs scripts or styles. */
export function HtmlOutput({ html, of }: { html: string; of: object }) {
  const needs = useMemo(
    () => (html.length > maxInspectedHtmlLength ? { needsFrame: true, externalSources: [] } : htmlRequirementsOf(html)),
    [html],
  );
  const content = useMemo(() => ({ html: maskTrackSources(html) }), [html]);
  return (
    <>
      {needs.needsFrame ? (
        <SandboxedFrame key={html} page="html" content={content} title="HTML output" height={120} outputKey={of} />
      ) : (
        <SafeHtml html={html} />
      )}
      {needs.externalSources.length > 0 && (
        <p className={styles.note}>Outputs cannot load anything. Not loaded: {needs.externalSources.join(", ")}</p>
      )}
    </>
  );
}
