import { getJSON, postJSON, sessionBase } from "../api/client";
import { fieldsOf, textOrJSON } from "../json/read";

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
  const { cases } = fieldsOf(await getJSON("/api/cases", { limit: most }, signal));
  return (Array.isArray(cases) ? cases : []).map(caseOf).filter(({ path }) => path !== "");
}

function caseOf(value: unknown): ListedCase {
  const { path, id, task, tags } = fieldsOf(value);
  return {
    path: textOrJSON(path),
    id: textOrJSON(id),
    task: textOrJSON(task),
    tags: Array.isArray(tags) ? tags.map(textOrJSON) : [],
  };
}

/** Attaches a case to a session, behind those that wait for their turn. */
export async function attachCase(session: string, { path, id }: ListedCase): Promise<void> {
  await postJSON(`${sessionBase(session)}/case`, { path, id });
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
