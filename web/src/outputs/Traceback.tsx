import CircleAlert from "lucide-react/icons/circle-exclamation-point";
import { useMemo, useState } from "react";
import { formatCountOf } from "../format/format";
import { plainName } from "../text/displayText";
import { Button } from "../ui/Button";
import { CellNames } from "./CellNames";
import { CopyButton } from "./CopyButton";
import styles from "./Outputs.module.css";
import { TerminalText } from "./terminal/TerminalText";
import { WordsProvider } from "./terminal/words";
import { splitTraceback } from "./traceback";

interface Props {
  ename: string;
  evalue: string;
  /** Its lines, with colours as in a terminal. */
  traceback: string;
}

/** How a run failed: what was raised first, then where. */
export function Traceback({ ename, evalue, traceback }: Props) {
  const { earlier, count, recent } = useMemo(() => splitTraceback(traceback), [traceback]);
  const [open, setOpen] = useState(false);
  return (
    <div className={styles.error}>
      <div className={styles.fault}>
        <CircleAlert size={16} aria-hidden />
        <p>
          <strong>{plainName(ename || "Error")}</strong>
          {evalue !== "" && (
            <>
              : <CellNames text={cut(evalue)} />
            </>
          )}
        </p>
        <CopyButton text={() => (traceback === "" ? `${ename}: ${evalue}` : traceback.replace(colors, ""))} />
      </div>
      {count > 0 && (
        <Button variant="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Fold" : "Show"} {formatCountOf(count, "earlier frame")}
        </Button>
      )}
      <WordsProvider value={CellNames}>
        {open && <TerminalText text={earlier} label="Earlier frames" />}
        {recent.trim() !== "" && <TerminalText text={recent} label="Traceback" />}
      </WordsProvider>
    </div>
  );
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are taken off by their ESC
const colors = /\x1b\[[0-9;:]*m/g;

function cut(text: string): string {
  return text.length > 2000 ? `${text.slice(0, 2000)}…` : text;
}
