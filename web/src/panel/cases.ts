import { getJSON, postJSON } from "../api/client";
import { asRecord, asText } from "./text";

/** A case that may be attached. */
export interface ListedCase {
  path: string;
  id: string;
  /** Its beginning. */
  task: string;
  tags: readonly string[];
}

const most = 5000;

/** The cases that may be attached, at most 5000. */
export async function listCases(signal: AbortSignal): Promise<ListedCase[]> {
  const { cases } = asRecord(await getJSON("/api/cases", { limit: most }, signal));
  return (Array.isArray(cases) ? cases : []).map(caseOf).filter(({ path }) => path !== "");
}

function caseOf(value: unknown): ListedCase {
  const { path, id, task, tags } = asRecord(value);
  return { path: asText(path), id: asText(id), task: asText(task), tags: Array.isArray(tags) ? tags.map(asText) : [] };
}

/** Attaches a case to a session, behind those that wait for their turn. */
export async function attachCase(session: string, { path, id }: ListedCase): Promise<void> {
  await postJSON(`/api/sessions/${encodeURIComponent(session)}/case`, { path, id });
}

/** The cases that have each of the words of text in their id, path, task or tags. */
export function matching(cases: readonly ListedCase[], text: string): readonly ListedCase[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return cases;
  return cases.filter(({ path, id, task, tags }) => {
    const all = [id, path, task, ...tags].join("\n").toLowerCase();
    return words.every((word) => all.includes(word));
  });
}
