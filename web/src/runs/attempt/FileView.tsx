import { useEffect, useState } from "react";
import { getFile } from "../../api/client";
import { Problem } from "../../api/Problem";
import { useLoad } from "../../api/useLoad";
import { formatBytes } from "../../format/format";
import { JsonTree } from "../../outputs/JsonTree";
import { plainName } from "../../text/displayText";
import { type File, readText, sizeOf } from "../data/file";
import { Quiet } from "../parts/Quiet";
import styles from "./Files.module.css";

/** How much of a text is shown, and how large an image may be, in bytes. */
const mostText = 256 * 1024;
const mostImage = 16 * 1024 * 1024;

/** What is in a file. A page, whatever it says, is a text here. */
export function FileView({ file }: { file: File }) {
  return (
    <section className={styles.view} aria-label={plainName(file.name)}>
      {file.kind === "image" ? <ImageView file={file} /> : <TextView file={file} />}
    </section>
  );
}

function TextView({ file }: { file: File }) {
  const { data, error, reload } = useLoad(file.path, (signal) => readText(file.path, mostText, "beginning", signal));
  if (error) return <Problem what="The file could not be loaded" error={error} onRetry={reload} />;
  if (data === null) return <Quiet>Loading…</Quiet>;
  const value = file.kind === "json" && !data.cut ? parsed(data.text) : undefined;
  return (
    <>
      {data.cut && (
        <Quiet>{`The first ${formatBytes(mostText)} of ${formatBytes(data.total)}. Download it to see all.`}</Quiet>
      )}
      {data.total === 0 && <Quiet>The file is empty.</Quiet>}
      {value === undefined ? <pre>{data.text}</pre> : <JsonTree value={value} />}
    </>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function ImageView({ file }: { file: File }) {
  const { data, error, reload } = useLoad(file.path, (signal) => loadImage(file, signal));
  const [broken, setBroken] = useState(false);
  const url = useBlobURL(data);
  if (error) return <Problem what="The image could not be loaded" error={error} onRetry={reload} />;
  if (broken) return <Quiet>It is no image that can be shown. Download it instead.</Quiet>;
  if (url === null) return <Quiet>Loading…</Quiet>;
  return <img src={url} alt={plainName(file.name)} onError={() => setBroken(true)} />;
}

/** An image by its name's type: the server does not say which, and an <img> runs nothing. */
async function loadImage(file: File, signal: AbortSignal): Promise<Blob> {
  const bytes = await sizeOf(file.path, signal);
  if (bytes !== null && bytes > mostImage) throw new Error(`it has ${formatBytes(bytes)}, too much to be shown here`);
  const blob = await (await getFile(file.path, { signal })).blob();
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
