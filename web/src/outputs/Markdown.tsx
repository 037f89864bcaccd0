import { memo, useMemo } from "react";
import styles from "./Markdown.module.css";
import { markdownHtml } from "./markdown";
import { typesetIn } from "./math";
import { SafeHtml } from "./SafeHtml";

/** A longer source is shown as it is, in UTF-16 units. */
const longest = 400_000;

/** Markdown of anybody's, with formulas between dollars. Nothing is fetched for it. */
export const Markdown = memo(function Markdown({ source }: { source: string }) {
  const html = useMemo(() => htmlOf(source), [source]);
  if (html === null) return <pre className={styles.source}>{String(source)}</pre>;
  return <SafeHtml html={html} className={styles.markdown} refine={typesetIn} />;
});

/** null: it is too long, or nested too deep, to be drawn. */
function htmlOf(source: unknown): string | null {
  if (typeof source !== "string" || source.length > longest) return null;
  try {
    return markdownHtml(source);
  } catch {
    return null;
  }
}
