import { useEffect, useState } from "react";
import { getFileResponse } from "../../api/client";
import { Problem } from "../../api/Problem";
import { useLoad } from "../../api/useLoad";
import { formatBytes } from "../../format/format";
import { JsonTree } from "../../outputs/JsonTree";
import { plainName } from "../../text/displayText";
import { type AttemptFile, fileSize, readFileText } from "../data/file";
import { MutedText } from "../parts/MutedText";
import styles from "./Files.module.css";

/**
 * Bytes of a text file that are shown (maxTextBytes), and the size in bytes up to which an image is
 * shown (maxImageBytes).
 */
const maxTextBytes = 256 * 1024;
const maxImageBytes = 16 * 1024 * 1024;

/** The content of a file. HTML is shown as text. */
export function FileView({ file }: { file: AttemptFile }) {
  return (
    <section className={styles.view} aria-label={plainName(file.name)}>
      {file.kind === "image" ? <ImageView file={file} /> : <TextView file={file} />}
    </section>
  );
}

function TextView({ file }: { file: AttemptFile }) {
  const { data, error, reload } = useLoad(file.path, (signal) =>
    readFileText(file.path, maxTextBytes, "beginning", signal),
  );
  if (error) return <Problem what="The file could not be loaded" error={error} onRetry={reload} />;
  if (data === null) return <MutedText>Loading…</MutedText>;
  const value = file.kind === "json" && !data.isCut ? parseJSON(data.text) : undefined;
  return (
    <>
      {data.isCut && (
        <MutedText>{`The first ${formatBytes(maxTextBytes)} of ${formatBytes(data.total)}. Download it to see the rest.`}</MutedText>
      )}
      {data.total === 0 && <MutedText>The file is empty.</MutedText>}
      {value === undefined ? <pre>{data.text}</pre> : <JsonTree value={value} />}
    </>
  );
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function ImageView({ file }: { file: AttemptFile }) {
  const { data, error, reload } = useLoad(file.path, (signal) => loadImage(file, signal));
  const [broken, setBroken] = useState(false);
  const url = useBlobURL(data);
  if (error) return <Problem what="The image could not be loaded" error={error} onRetry={reload} />;
  if (broken) return <MutedText>The image cannot be displayed. Download it instead.</MutedText>;
  if (url === null) return <MutedText>Loading…</MutedText>;
  return <img src={url} alt={plainName(file.name)} onError={() => setBroken(true)} />;
}

/**
 * Loads an image and returns it as a Blob whose type is that of its file extension, because the
 * server sends no image type. An img element runs no scripts in it.
 */
async function loadImage(file: AttemptFile, signal: AbortSignal): Promise<Blob> {
  const bytes = await fileSize(file.path, signal);
  if (bytes !== null && bytes > maxImageBytes) throw new Error(`it has ${formatBytes(bytes)}, too large to display`);
  const blob = await (await getFileResponse(file.path, { signal })).blob();
  const extension = file.name.split(".").at(-1)?.toLowerCase() ?? "";
  const type = { svg: "image/svg+xml", jpg: "image/jpeg" }[extension] ?? `image/${extension}`;
  return new Blob([blob], { type });
}

function useBlobURL(blob: Blob | null): string | null {
  const [url, setURL] = useState<string | null>(null);
  useEffect(() => {
    if (blob === null) return;
    const made = URL.createObjectURL(blob);
    setURL(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}
