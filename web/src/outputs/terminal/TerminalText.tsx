import { useState } from "react";
import { formatCountOf } from "../../format/format";
import { Button } from "../../ui/Button";
import { CopyButton } from "../CopyButton";
import { linesText } from "./line";
import { TerminalLine } from "./TerminalLine";
import styles from "./TerminalText.module.css";
import { TerminalReader } from "./terminalReader";
import { VirtualLines } from "./VirtualLines";

/** How many lines of a long text are shown at first: from its beginning and from its end. */
const headLineCount = 40;
const tailLineCount = 20;

interface Props {
  text: string;
  /** Name of the text for screen readers, as "Standard output". */
  label: string;
}

/** Shows text as a terminal does. Only the ends of a text of more than 70 lines are shown at first; when opened, all of it scrolls in a box. */
export function TerminalText({ text, label }: Props) {
  const [reader] = useState(() => new TerminalReader());
  const [open, setOpen] = useState(false);
  const lines = reader.read(text);
  const folds = lines.length > headLineCount + tailLineCount + 10;
  if (!folds) {
    return (
      <div className={styles.text}>
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its number
          <TerminalLine key={index} line={line} />
        ))}
      </div>
    );
  }
  const toggle = (
    <div className={styles.fold}>
      <Button variant="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Fold" : `Show all ${formatCountOf(lines.length, "line")}`}
      </Button>
      <CopyButton text={() => linesText(lines)} />
    </div>
  );
  if (open) {
    return (
      <div className={styles.text}>
        {toggle}
        <VirtualLines lines={lines} count={lines.length} label={label} />
      </div>
    );
  }
  const ends = lines.length - tailLineCount;
  return (
    <div className={styles.text}>
      {lines.slice(0, headLineCount).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its number
        <TerminalLine key={index} line={line} />
      ))}
      {toggle}
      {lines.slice(ends).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its number
        <TerminalLine key={ends + index} line={line} />
      ))}
    </div>
  );
}
