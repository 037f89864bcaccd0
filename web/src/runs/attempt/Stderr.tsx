import { useMemo } from "react";
import { Problem } from "../../api/Problem";
import { useLoad } from "../../api/useLoad";
import { formatBytes, formatCountOf } from "../../format/format";
import { Terminal } from "../../outputs/terminal/terminal";
import { VirtualLines } from "../../outputs/terminal/VirtualLines";
import { Button } from "../../ui/Button";
import { readFileText } from "../data/file";
import { useOnEnd } from "../data/useOnEnd";
import { DownloadLink } from "../parts/DownloadLink";
import { MutedText } from "../parts/MutedText";
import styles from "./Stderr.module.css";

/** How many bytes from the end of stderr.log are shown. */
const maxStderrBytes = 4 * 1024 * 1024;

/**
 * What kernel and agent printed to stderr, rendered as a terminal would. base is the attempt's path
 * in the API. Loaded again when the attempt has ended.
 */
export function Stderr({ base, running }: { base: string; running: boolean }) {
  const path = `${base}/stderr`;
  const { data, error, loading, reload } = useLoad(path, (signal) => readFileText(path, maxStderrBytes, "end", signal));
  useOnEnd(running, reload);
  const lines = useMemo(() => terminalLinesOf(data?.text ?? ""), [data]);
  if (error) return <Problem what="The file could not be loaded" error={error} onRetry={reload} />;
  if (data === null) return <MutedText>Loading…</MutedText>;
  return (
    <div className={styles.stderr}>
      <div className={styles.head}>
        <MutedText>{stderrHeading(data.total, data.isCut, lines.length)}</MutedText>
        <DownloadLink path={path} name="stderr.txt" />
        <Button onClick={reload} disabled={loading}>
          Refresh
        </Button>
      </div>
      {lines.length > 0 && <VirtualLines lines={lines} count={lines.length} label="Output of kernel and agent" />}
    </div>
  );
}

function terminalLinesOf(text: string) {
  const terminal = new Terminal();
  terminal.write(text);
  return terminal.lines;
}

function stderrHeading(total: number, cut: boolean, lines: number): string {
  if (total === 0) return "No output.";
  const all = formatCountOf(lines, "line");
  return cut
    ? `The last ${formatBytes(maxStderrBytes)} of ${formatBytes(total)}, ${all}.`
    : `${all}, ${formatBytes(total)}.`;
}
