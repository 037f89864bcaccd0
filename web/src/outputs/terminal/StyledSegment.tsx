import type { CSSProperties } from "react";
import type { TextSegment } from "./line";
import styles from "./StyledSegment.module.css";
import { useTextRenderer } from "./textRenderer";
import type { Color, TextStyle } from "./textStyle";

/** Shows a segment of terminal text in its style. Colours are adapted to the theme so that the text stays readable. */
export function StyledSegment({ segment: { text, style } }: { segment: TextSegment }) {
  const Words = useTextRenderer();
  if (style === null) return <Words text={text} />;
  const look = { className: classesOf(style), style: colorPropertiesOf(style) };
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

/** Returns the CSS classes of a text style. */
function classesOf(style: TextStyle): string {
  const { fg, bg } = style;
  const classes: (string | undefined)[] = [];
  if (fg !== undefined) classes.push(styles.foreground);
  if (bg !== undefined) classes.push(styles.background);
  if (typeof fg === "object" && typeof bg === "object") classes.push(styles.exact);
  for (const name of ["bold", "faint", "italic", "underline", "strike", "inverse"] as const) {
    if (style[name]) classes.push(styles[name]);
  }
  return classes.join(" ");
}

/** Returns custom properties with the colours of a text style. */
function colorPropertiesOf({ fg, bg }: TextStyle): CSSProperties {
  const colors: Record<string, string> = {};
  if (fg !== undefined) colors["--foreground"] = colorText(fg);
  if (bg !== undefined) colors["--background"] = colorText(bg);
  return colors;
}

/** Returns a colour as a CSS value. */
function colorText(color: Color): string {
  return typeof color === "number" ? `var(--ansi-${color})` : `rgb(${color.join(" ")})`;
}
