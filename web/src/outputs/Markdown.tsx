import { memo, useMemo } from "react";
import styles from "./Markdown.module.css";
import { markdownToHtml } from "./markdown";
import { typesetFormulasIn } from "./math";
import { SafeHtml } from "./SafeHtml";

/** Length in UTF-16 units of the longest source that is rendered; longer ones are shown as plain text. */
const maxSourceLength = 400_000;

/** Renders untrusted Markdown, with formulas between dollars. Loads nothing from the network. */
export const Markdown = memo(function Markdown({ source }: { source: string }) {
  const html = useMemo(() => markdownHtmlOrNull(source), [source]);
  if (html === null) return <pre className={styles.source}>{String(source)}</pre>;
  return <SafeHtml html={html} className={styles.markdown} onInserted={typesetFormulasIn} />;
});

/** Converts Markdown to HTML; returns null if the source is not a string, is too long, or is nested too deeply. */
function markdownHtmlOrNull(source: unknown): string | null {
  if (typeof source !== "string" || source.length > maxSourceLength) return null;
  try {
    return markdownToHtml(source);
  } catch {
    return null;
  }
}
