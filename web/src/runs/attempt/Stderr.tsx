import { useMemo } from "react";
import { Problem } from "../../api/Problem";
import { useLoad } from "../../api/useLoad";
import { formatBytes, formatCountOf } from "../../format/format";
import { LineWindow } from "../../outputs/terminal/LineWindow";
import { Terminal } from "../../outputs/terminal/terminal";
import { Button } from "../../ui/Button";
import { readText } from "../data/file";
import { DownloadLink } from "../parts/DownloadLink";
import { Quiet } from "../parts/Quiet";
import styles from "./Stderr.module.css";

/** How much of it is shown, in bytes. */
const most = 4 * 1024 * 1024;

/** What kernel and agent printed, as a terminal shows it. base is the attempt's path in the API. */
export function Stderr({ base }: { base: string }) {
  const path = `${base}/stderr`;
  const { data, error, loading, reload } = useLoad(path, (signal) => readText(path, most, "end", signal));
  const lines = useMemo(() => linesOf(data?.text ?? ""), [data]);
  if (error) return <Problem what="The file could not be loaded" error={error} onRetry={reload} />;
  if (data === null) return <Quiet>Loading…</Quiet>;
  return (
    <div className={styles.stderr}>
      <div className={styles.head}>
        <Quiet>{headline(data.total, data.cut, lines.length)}</Quiet>
        <DownloadLink path={path} name="stderr.txt" />
        <Button onClick={reload} disabled={loading}>
          Load again
        </Button>
      </div>
      {lines.length > 0 && <LineWindow lines={lines} count={lines.length} label="What kernel and agent printed" />}
    </div>
  );
}

function linesOf(text: string) {
  const terminal = new Terminal();
  terminal.write(text);
  return terminal.lines;
}

function headline(total: number, cut: boolean, lines: number): string {
  if (total === 0) return "Nothing was printed.";
  const all = formatCountOf(lines, "line");
  return cut ? `The last ${formatBytes(most)} of ${formatBytes(total)}, ${all}.` : `${all}, ${formatBytes(total)}.`;
}
