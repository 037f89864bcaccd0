import { useState } from "react";
import { formatCountOf } from "../../format/format";
import { Button } from "../../ui/Button";
import { CopyButton } from "../CopyButton";
import { LineWindow } from "./LineWindow";
import { linesText } from "./line";
import { Reader } from "./reader";
import { TerminalLine } from "./TerminalLine";
import styles from "./TerminalText.module.css";

/** Lines that a folded text begins and ends with. */
const head = 40;
const tail = 20;

interface Props {
  text: string;
  /** What it is, for screen readers, as "Standard output". */
  label: string;
}

/** Text as a terminal shows it. The middle of a long one is folded; opened, it scrolls in a box of its own. */
export function TerminalText({ text, label }: Props) {
  const [reader] = useState(() => new Reader());
  const [open, setOpen] = useState(false);
  const lines = reader.read(text);
  const folds = lines.length > head + tail + 10;
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
        <LineWindow lines={lines} count={lines.length} label={label} />
      </div>
    );
  }
  const ends = lines.length - tail;
  return (
    <div className={styles.text}>
      {lines.slice(0, head).map((line, index) => (
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
