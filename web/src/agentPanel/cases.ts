import { getJSON, postJSON, sessionPath } from "../api/client";
import { type Case, casePageSchema } from "../protocol/api.gen";

/** How many cases are offered at most. */
const maxCases = 5000;

/** Loads the cases that can be attached. */
export async function listCases(signal: AbortSignal): Promise<readonly Case[]> {
  const { cases } = await getJSON("/api/cases", casePageSchema, { limit: maxCases }, signal);
  return cases.filter(({ path }) => path !== "");
}

/** Attaches a case to a session, behind those that wait for their turn. */
export async function attachCase(session: string, { path, id }: Case): Promise<void> {
  await postJSON(`${sessionPath(session)}/case`, { path, id });
}

/** The cases that have each of the words of text in their id, path, task or tags. */
export function matching(cases: readonly Case[], text: string): readonly Case[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return cases;
  return cases.filter(({ path, id, task, tags }) => {
    const all = [id, path, task, ...tags].join("\n").toLowerCase();
    return words.every((word) => all.includes(word));
  });
}
