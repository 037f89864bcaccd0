import type { QueryParameters } from "../api/client";
import type { Hop } from "../protocol/messages";

/** Filters of a trace's entries; an entry must match all filters that are set. "" and null mean not set. */
export interface Filters {
  /** Text in the message, its names or ids. */
  text: string;
  /** Id of a request. */
  tx: string;
  action: string;
  hop: string;
  cell: string;
  /** Requests that took at least this many milliseconds or were not answered, and late replies. */
  late: number | null;
  /** Includes stream frames, in which replies arrive piece by piece. */
  streams: boolean;
}

/** The filters that the user can set in the form. */
export type FilterKind = Exclude<keyof Filters, "streams">;

/** The value of Filters with no filter set. */
export const noFilters: Filters = { text: "", tx: "", action: "", hop: "", cell: "", late: null, streams: true };

/** The initial filters: stream frames are hidden, because the complete reply follows them. */
export const initialFilters: Filters = { ...noFilters, streams: false };

export const hopNames: readonly Hop[] = [
  "agent>server",
  "server>agent",
  "kernel>server",
  "server>kernel",
  "console>server",
  "server>console",
  "agent>model",
  "model>agent",
  "notebook",
  "session",
];

/** Names of the filters in the form. */
export const filterNames: Readonly<Record<FilterKind, string>> = {
  text: "Text",
  tx: "Request id",
  action: "Action",
  hop: "Hop",
  cell: "Cell id",
  late: "Slower than",
};

export const filterKinds = Object.keys(filterNames) as FilterKind[];

const maxLateFilterMs = 9e12;

/** Returns the query parameters of /flow for these filters. */
export function flowQueryOfFilters({ streams, ...picked }: Filters): QueryParameters {
  return streams ? picked : { ...picked, streams };
}

/** Reports whether the user has set any filter. Hidden stream frames do not count. */
export function hasFilter(filters: Filters): boolean {
  return filterKinds.some((kind) => filters[kind] !== noFilters[kind]);
}

/**
 * Returns the filters with one set from the user's input, or removed if that is empty; an error
 * text if the input is not valid.
 */
export function withFilterFromInput(filters: Filters, kind: FilterKind, written: string): Filters | string {
  const value = written.trim();
  if (kind === "late") {
    const ms = Number(value.replace(/ *ms$/, ""));
    if (value === "") return { ...filters, late: null };
    if (!Number.isInteger(ms) || ms < 1 || ms > maxLateFilterMs) return "Enter whole milliseconds, at least 1.";
    return { ...filters, late: ms };
  }
  if (kind === "hop" && value !== "" && !hopNames.some((hop) => hop === value)) return "Unknown hop.";
  return { ...filters, [kind]: value };
}

/** Returns the filters that are set, with their values as text. */
export function activeFilters(filters: Filters): readonly { kind: FilterKind; text: string }[] {
  return filterKinds
    .filter((kind) => filters[kind] !== noFilters[kind])
    .map((kind) => ({ kind, text: kind === "late" ? `${filters.late} ms` : String(filters[kind]) }));
}
