import type { Query } from "../api/client";
import type { Hop } from "../protocol/messages";

/** What is picked of a trace; all that is set must hold. "" and null are not set. */
export interface Filters {
  /** Text in what a message carries, in its names or ids. */
  text: string;
  /** Id of a request. */
  tx: string;
  action: string;
  hop: string;
  cell: string;
  /** Requests that took at least so many milliseconds or were never answered, and what came late. */
  late: number | null;
  /** The pieces are there in which replies arrive; false: they are left out. */
  streams: boolean;
}

/** What a person writes or chooses. */
export type FilterKind = Exclude<keyof Filters, "streams">;

/** All there is. */
export const noFilters: Filters = { text: "", tx: "", action: "", hop: "", cell: "", late: null, streams: true };

/** What is shown at first: of a reply in ten thousand pieces the whole of it, which follows. */
export const firstFilters: Filters = { ...noFilters, streams: false };

export const hops: readonly Hop[] = [
  "agent>server",
  "server>agent",
  "kernel>server",
  "server>kernel",
  "console>server",
  "server>console",
  "notebook",
  "session",
];

/** What each is called where one is chosen. */
export const filterNames: Readonly<Record<FilterKind, string>> = {
  text: "Text",
  tx: "Request id",
  action: "Action",
  hop: "Hop",
  cell: "Cell id",
  late: "Slower than",
};

export const filterKinds = Object.keys(filterNames) as FilterKind[];

const latestMs = 9e12;

/** The parameters of /flow. */
export function queryOf({ streams, ...picked }: Filters): Query {
  return streams ? picked : { ...picked, streams };
}

/** A person has picked some of it. */
export function isPicked(filters: Filters): boolean {
  return filterKinds.some((kind) => filters[kind] !== noFilters[kind]);
}

/** Sets what a person has written; a text, if it cannot be that. An empty one takes the filter out. */
export function withFilter(filters: Filters, kind: FilterKind, written: string): Filters | string {
  const value = written.trim();
  if (kind === "late") {
    const ms = Number(value.replace(/ *ms$/, ""));
    if (value === "") return { ...filters, late: null };
    if (!Number.isInteger(ms) || ms < 1 || ms > latestMs) return "Give whole milliseconds, at least 1.";
    return { ...filters, late: ms };
  }
  if (kind === "hop" && value !== "" && !hops.some((hop) => hop === value)) return "There is no such hop.";
  return { ...filters, [kind]: value };
}

/** What is set, as it is shown. */
export function chipsOf(filters: Filters): readonly { kind: FilterKind; text: string }[] {
  return filterKinds
    .filter((kind) => filters[kind] !== noFilters[kind])
    .map((kind) => ({ kind, text: kind === "late" ? `${filters.late} ms` : String(filters[kind]) }));
}
