import CircleAlert from "lucide-react/icons/circle-exclamation-point";
import { useMemo, useState } from "react";
import { formatCountOf } from "../format/format";
import { plainName } from "../text/displayText";
import { Button } from "../ui/Button";
import { CopyButton } from "./CopyButton";
import styles from "./Outputs.module.css";
import { TextWithCellLinks } from "./TextWithCellLinks";
import { TerminalText } from "./terminal/TerminalText";
import { TextRendererProvider } from "./terminal/textRenderer";
import { splitTraceback } from "./traceback";

interface Props {
  /** Name of the exception's class; "" is shown as "Error". */
  ename: string;
  /** Message of the exception; "" if it has none. */
  evalue: string;
  /** The lines, with terminal colour sequences; "" if there is no traceback. */
  traceback: string;
}

/** Shows an error output: exception and message first, then the traceback, whose earlier frames are hidden at first. */
export function Traceback({ ename, evalue, traceback }: Props) {
  const { earlierFrames, earlierFrameCount, recentFrames } = useMemo(() => splitTraceback(traceback), [traceback]);
  const [open, setOpen] = useState(false);
  return (
    <div className={styles.error}>
      <div className={styles.errorHeading}>
        <CircleAlert size={16} aria-hidden />
        <p>
          <strong>{plainName(ename || "Error")}</strong>
          {evalue !== "" && (
            <>
              : <TextWithCellLinks text={truncateMessage(evalue)} />
            </>
          )}
        </p>
        <CopyButton text={() => (traceback === "" ? `${ename}: ${evalue}` : traceback.replace(colorSequences, ""))} />
      </div>
      {earlierFrameCount > 0 && (
        <Button variant="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Fold" : "Show"} {formatCountOf(earlierFrameCount, "earlier frame")}
        </Button>
      )}
      <TextRendererProvider value={TextWithCellLinks}>
        {open && <TerminalText text={earlierFrames} label="Earlier frames" />}
        {recentFrames.trim() !== "" && <TerminalText text={recentFrames} label="Traceback" />}
      </TextRendererProvider>
    </div>
  );
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with ESC
const colorSequences = /\x1b\[[0-9;:]*m/g;

/** Returns the first 2000 UTF-16 units of a text, and "…" if it is longer. */
function truncateMessage(text: string): string {
  return text.length > 2000 ? `${text.slice(0, 2000)}…` : text;
}
