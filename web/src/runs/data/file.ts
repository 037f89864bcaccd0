import { getFileResponse } from "../../api/client";
import type { AttemptLine } from "../../protocol/api.gen";

/** How the page displays a file of an attempt. other: it is not displayed, only downloaded. */
export type FileKind = "text" | "json" | "image" | "other";

/** A file of an attempt. */
export interface AttemptFile {
  /** Name without folder. */
  name: string;
  /** Path in the API. */
  path: string;
  kind: FileKind;
}

const fileKindPatterns: readonly (readonly [RegExp, FileKind])[] = [
  [/\.(json|ipynb)$/i, "json"],
  [/\.(png|jpe?g|gif|webp|svg)$/i, "image"],
  [/\.(jsonl|txt|log|md|csv|tsv|py|el|r|ya?ml|toml|html?|xml|css|js)$/i, "text"],
];

/** Returns the files named in an attempt's line, sorted by name. base is the attempt's path in the API. */
export function filesOf(base: string, line: AttemptLine): readonly AttemptFile[] {
  const names = (line.files ?? []).map((path) => path.slice(path.lastIndexOf("/") + 1));
  return [...new Set(names)]
    .filter((name) => name !== "")
    .sort()
    .map((name) => ({ name, path: `${base}/files/${encodeURIComponent(name)}`, kind: fileKindOf(name) }));
}

function fileKindOf(name: string): FileKind {
  return fileKindPatterns.find(([pattern]) => pattern.test(name))?.[1] ?? "other";
}

/** Returns the size of a file in bytes; null if the server does not send it. */
export async function fileSize(path: string, signal: AbortSignal): Promise<number | null> {
  const length = (await getFileResponse(path, { method: "HEAD", signal })).headers.get("Content-Length");
  return length === null || Number.isNaN(Number(length)) ? null : Number(length);
}

/** The beginning or the end of a file. */
export interface FilePart {
  text: string;
  /** Size of the whole file in bytes. */
  total: number;
  /** Not all of the file is included. */
  isCut: boolean;
}

/** Loads at most maxBytes of a file as text, from its beginning or up to its end. */
export async function readFileText(
  path: string,
  maxBytes: number,
  part: "beginning" | "end",
  signal: AbortSignal,
): Promise<FilePart> {
  const total = (await fileSize(path, signal)) ?? 0;
  if (total === 0) return { text: "", total, isCut: false };
  const range =
    part === "beginning" ? ([0, maxBytes - 1] as const) : ([Math.max(0, total - maxBytes), total - 1] as const);
  const text = await (await getFileResponse(path, { range, signal })).text();
  return { text, total, isCut: total > maxBytes };
}
