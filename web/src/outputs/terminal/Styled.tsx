import type { CSSProperties } from "react";
import type { Segment } from "./line";
import styles from "./Styled.module.css";
import type { Color, Style } from "./style";
import { useWords } from "./words";

/** Text as a program wanted it to look, as far as it stays readable. */
export function Styled({ segment: { text, style } }: { segment: Segment }) {
  const Words = useWords();
  if (style === null) return <Words text={text} />;
  const look = { className: classesOf(style), style: colorsOf(style) };
  if (style.link === undefined) {
    return (
      <span {...look}>
        <Words text={text} />
      </span>
    );
  }
  return (
    <a {...look} href={style.link} title={style.link} target="_blank" rel="noopener noreferrer">
      {text}
    </a>
  );
}

function classesOf(style: Style): string {
  const { fg, bg } = style;
  const classes: (string | undefined)[] = [];
  if (fg !== undefined) classes.push(styles.ink);
  if (bg !== undefined) classes.push(styles.paper);
  if (typeof fg === "object" && typeof bg === "object") classes.push(styles.exact);
  for (const name of ["bold", "faint", "italic", "underline", "strike", "inverse"] as const) {
    if (style[name]) classes.push(styles[name]);
  }
  return classes.join(" ");
}

function colorsOf({ fg, bg }: Style): CSSProperties {
  const colors: Record<string, string> = {};
  if (fg !== undefined) colors["--ink"] = colorText(fg);
  if (bg !== undefined) colors["--paper"] = colorText(bg);
  return colors;
}

function colorText(color: Color): string {
  return typeof color === "number" ? `var(--ansi-${color})` : `rgb(${color.join(" ")})`;
}
