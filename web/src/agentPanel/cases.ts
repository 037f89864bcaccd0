import { getJSON, postJSON, sessionApiPath } from "../api/client";
import { type Case, casePageSchema } from "../protocol/api.gen";

/** Number of cases that are loaded at most. */
const maxCasesPerRequest = 5000;

/** Loads the cases that can be attached to a session. Rejects if the request fails. */
export async function listCases(signal: AbortSignal): Promise<readonly Case[]> {
  const { cases } = await getJSON("/api/cases", casePageSchema, { limit: maxCasesPerRequest }, signal);
  return cases.filter(({ path }) => path !== "");
}

/**
 * Starts an attempt at a case in a session, after attempts that are queued already. Rejects if the
 * server refuses.
 */
export async function attachCase(session: string, { path, id }: Case): Promise<void> {
  await postJSON(`${sessionApiPath(session)}/case`, { path, id });
}

/** Returns the cases whose id, path, task and tags together contain every word of text. */
export function filterCases(cases: readonly Case[], text: string): readonly Case[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return cases;
  return cases.filter(({ path, id, task, tags }) => {
    const searchText = [id, path, task, ...tags].join("\n").toLowerCase();
    return words.every((word) => searchText.includes(word));
  });
}
