import { useMemo, useState } from "react";
import { useLoad } from "../../api/useLoad";
import { formatBytes } from "../../format/format";
import type { AttemptLine } from "../../protocol/api.gen";
import { plainName } from "../../text/displayText";
import { Button } from "../../ui/Button";
import { type File, filesOf, sizeOf } from "../data/file";
import { DownloadLink } from "../parts/DownloadLink";
import { Name } from "../parts/Name";
import { Quiet } from "../parts/Quiet";
import styles from "./Files.module.css";
import { FileView } from "./FileView";

interface Props {
  /** The attempt's path in the API. */
  base: string;
  line: AttemptLine;
  /** Shows the notebook as it was at the end. */
  onNotebook: () => void;
}

/** The files of an attempt, of which small ones can be looked at. */
export function Files({ base, line, onNotebook }: Props) {
  const files = useMemo(() => filesOf(base, line), [base, line]);
  const [open, setOpen] = useState<string | null>(null);
  const shown = files.find((file) => file.name === open);
  if (files.length === 0) return <Quiet>There are no files.</Quiet>;
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
            <Row
              key={file.name}
              file={file}
              open={file.name === open}
              onOpen={() => setOpen(file.name)}
              onNotebook={onNotebook}
            />
          ))}
        </tbody>
      </table>
      {shown && <FileView key={shown.path} file={shown} />}
    </div>
  );
}

interface RowProps {
  file: File;
  open: boolean;
  onOpen: () => void;
  onNotebook: () => void;
}

/** The name of a file, as a button where there is a way to look at it. */
function FileName({ file, open, onOpen, onNotebook }: RowProps) {
  const name = <Name text={file.name} />;
  if (file.kind === "other") return name;
  if (file.name === "notebook.ipynb") {
    return (
      <Button variant="quiet" title="Show the notebook as it was at the end" onClick={onNotebook}>
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

function Row({ file, open, onOpen, onNotebook }: RowProps) {
  const { data, error } = useLoad(file.path, (signal) => sizeOf(file.path, signal));
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
