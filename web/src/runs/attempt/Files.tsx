import { useMemo, useState } from "react";
import { Button } from "../../ui/Button";
import { type File, filesOf, sizeOf } from "../data/file";
import { size } from "../data/format";
import type { Fields } from "../data/json";
import { useLoad } from "../data/useLoad";
import { visible } from "../data/visible";
import { DownloadLink } from "../parts/DownloadLink";
import { Name } from "../parts/Name";
import { Quiet } from "../parts/Quiet";
import styles from "./Files.module.css";
import { FileView } from "./FileView";

/** The files of an attempt, of which small ones can be looked at. base is its path in the API. */
export function Files({ base, line }: { base: string; line: Fields }) {
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
            <Row key={file.name} file={file} open={file.name === open} onOpen={() => setOpen(file.name)} />
          ))}
        </tbody>
      </table>
      {shown && <FileView key={shown.path} file={shown} />}
    </div>
  );
}

function Row({ file, open, onOpen }: { file: File; open: boolean; onOpen: () => void }) {
  const { data, error } = useLoad(file.path, (signal) => sizeOf(file.path, signal));
  return (
    <tr className={open ? styles.open : ""}>
      <th scope="row">
        {file.kind === "other" ? (
          <Name text={file.name} />
        ) : (
          <Button look="quiet" aria-expanded={open} onClick={onOpen}>
            <Name text={file.name} />
          </Button>
        )}
      </th>
      <td className={styles.number}>{error ? visible(error.message) : size(data)}</td>
      <td>
        <DownloadLink path={file.path} name={file.name} />
      </td>
    </tr>
  );
}
