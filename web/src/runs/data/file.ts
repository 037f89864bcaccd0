import { getFile } from "../../api/client";
import type { AttemptLine } from "../../protocol/api.gen";

/** How a file can be shown. other: not at all. */
export type Kind = "text" | "json" | "image" | "other";

/** A file of an attempt. */
export interface File {
  /** Without its folder. */
  name: string;
  /** In the API. */
  path: string;
  kind: Kind;
}

const kinds: readonly (readonly [RegExp, Kind])[] = [
  [/\.(json|ipynb)$/i, "json"],
  [/\.(png|jpe?g|gif|webp|svg)$/i, "image"],
  [/\.(jsonl|txt|log|md|csv|tsv|py|el|r|ya?ml|toml|html?|xml|css|js)$/i, "text"],
];

/** The files that a line names, by name. base is the attempt's path in the API. */
export function filesOf(base: string, line: AttemptLine): readonly File[] {
  const names = (line.files ?? []).map((path) => path.slice(path.lastIndexOf("/") + 1));
  return [...new Set(names)]
    .filter((name) => name !== "")
    .sort()
    .map((name) => ({ name, path: `${base}/files/${encodeURIComponent(name)}`, kind: kindOf(name) }));
}

function kindOf(name: string): Kind {
  return kinds.find(([pattern]) => pattern.test(name))?.[1] ?? "other";
}

/** How large a file is, in bytes; null: the server does not say. */
export async function sizeOf(path: string, signal: AbortSignal): Promise<number | null> {
  const length = (await getFile(path, { method: "HEAD", signal })).headers.get("Content-Length");
  return length === null || Number.isNaN(Number(length)) ? null : Number(length);
}

/** The beginning of a file. */
export interface Beginning {
  text: string;
  /** Bytes of the whole file. */
  total: number;
  /** Not all of it is here. */
  cut: boolean;
}

/** At most `most` bytes of a file, from its beginning or up to its end, as text. */
export async function readText(
  path: string,
  most: number,
  part: "beginning" | "end",
  signal: AbortSignal,
): Promise<Beginning> {
  const total = (await sizeOf(path, signal)) ?? 0;
  if (total === 0) return { text: "", total, cut: false };
  const range = part === "beginning" ? ([0, most - 1] as const) : ([Math.max(0, total - most), total - 1] as const);
  const text = await (await getFile(path, { range, signal })).text();
  return { text, total, cut: total > most };
}
