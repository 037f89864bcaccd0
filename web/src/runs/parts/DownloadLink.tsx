import Download from "lucide-react/icons/download";
import { useState } from "react";
import { getToken } from "../../api/client";
import { plainName } from "../../text/displayText";
import { Button } from "../../ui/Button";
import { download } from "../data/download";
import styles from "./parts.module.css";

/** A link or button that downloads a file, which the server sends as an attachment. */
export function DownloadLink({ path, name }: { path: string; name: string }) {
  const [problem, setProblem] = useState<string | null>(null);
  const label = `Download ${plainName(name)}`;
  if (getToken() === null) {
    return (
      <a href={path} download={name} aria-label={label} title={label} className={styles.download}>
        <Download aria-hidden="true" size={16} />
      </a>
    );
  }
  const onClick = () => download(path, name).catch((error: Error) => setProblem(error.message));
  return (
    <>
      <Button variant="quiet" aria-label={label} title={label} onClick={onClick}>
        <Download aria-hidden="true" size={16} />
      </Button>
      {problem !== null && <span role="alert">{plainName(problem)}</span>}
    </>
  );
}
