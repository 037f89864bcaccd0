import { getJSON, postJSON, sessionPath } from "../api/client";
import { type Case, casePageSchema } from "../protocol/api.gen";

/** How many cases are offered at most. */
const maxCases = 5000;

/** Loads the cases that can be attached. */
export async function listCases(signal: AbortSignal): Promise<readonly Case[]> {
  const { cases } = await getJSON("/api/cases", casePageSchema, { limit: maxCases }, signal);
  return cases.filter(({ path }) => path !== "");
}

/** Starts an attempt at the case in the session, after the attempts that are queued before it. */
export async function attachCase(session: string, { path, id }: Case): Promise<void> {
  await postJSON(`${sessionPath(session)}/case`, { path, id });
}

/** Returns the cases whose id, path, task and tags contain every word of text. */
export function filterCases(cases: readonly Case[], text: string): readonly Case[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return cases;
  return cases.filter(({ path, id, task, tags }) => {
    const searchText = [id, path, task, ...tags].join("\n").toLowerCase();
    return words.every((word) => searchText.includes(word));
  });
}
