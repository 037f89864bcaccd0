import { useMemo, useState } from "react";
import { useLoad } from "../../api/useLoad";
import { formatBytes } from "../../format/format";
import type { AttemptLine } from "../../protocol/api.gen";
import { plainName } from "../../text/displayText";
import { Button } from "../../ui/Button";
import { type AttemptFile, fileSize, filesOf } from "../data/file";
import { useOnEnd } from "../data/useOnEnd";
import { DownloadLink } from "../parts/DownloadLink";
import { ForeignName } from "../parts/ForeignName";
import { MutedText } from "../parts/MutedText";
import styles from "./Files.module.css";
import { FileView } from "./FileView";

interface Props {
  /** The attempt's path in the API. */
  base: string;
  line: AttemptLine;
  /** Opens the notebook tab at the end of the trace. */
  onNotebook: () => void;
}

/** The files of an attempt. Those of a known type can be opened. */
export function Files({ base, line, onNotebook }: Props) {
  const files = useMemo(() => filesOf(base, line), [base, line]);
  const [open, setOpen] = useState<string | null>(null);
  const running = line.state === "running";
  const shown = files.find((file) => file.name === open);
  if (files.length === 0) return <MutedText>No files.</MutedText>;
  return (
    <div className={styles.files}>
      <table className={styles.table}>
        <caption className="visually-hidden">Files</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className={styles.number}>
              Size
            </th>
            <th scope="col">
              <span className="visually-hidden">Download</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {files.map((file) => (
            <FileRow
              key={file.name}
              file={file}
              open={file.name === open}
              running={running}
              onOpen={() => setOpen(file.name)}
              onNotebook={onNotebook}
            />
          ))}
        </tbody>
      </table>
      {shown && <FileView key={`${shown.path} ${running}`} file={shown} />}
    </div>
  );
}

interface FileRowProps {
  file: AttemptFile;
  open: boolean;
  /** The attempt runs, so the file may grow until it ends. */
  running: boolean;
  onOpen: () => void;
  onNotebook: () => void;
}

/** The name of a file; a button if the file can be opened. */
function FileName({ file, open, onOpen, onNotebook }: Omit<FileRowProps, "running">) {
  const name = <ForeignName text={file.name} />;
  if (file.kind === "other") return name;
  if (file.name === "notebook.ipynb") {
    return (
      <Button variant="quiet" title="Show the final notebook" onClick={onNotebook}>
        {name}
      </Button>
    );
  }
  return (
    <Button variant="quiet" aria-expanded={open} onClick={onOpen}>
      {name}
    </Button>
  );
}

function FileRow({ file, open, running, onOpen, onNotebook }: FileRowProps) {
  const { data, error, reload } = useLoad(file.path, (signal) => fileSize(file.path, signal));
  useOnEnd(running, reload);
  return (
    <tr className={open ? styles.open : ""}>
      <th scope="row">
        <FileName file={file} open={open} onOpen={onOpen} onNotebook={onNotebook} />
      </th>
      <td className={styles.number}>{error ? plainName(error.message) : formatBytes(data)}</td>
      <td>
        <DownloadLink path={file.path} name={file.name} />
      </td>
    </tr>
  );
}
