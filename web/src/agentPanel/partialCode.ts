/** Where code begins in an input that has not yet come whole. */
const begin = /"(?:source|code|new_source)"\s*:\s*"/;

/** What of an input of a tool is worth reading while it arrives: its code so far, else its JSON so far. */
export function partialCode(json: string): string {
  const found = begin.exec(json);
  if (found === null) return json;
  const rest = json.slice(found.index + found[0].length);
  const written = /^(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*/.exec(rest)?.[0] ?? "";
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return json;
  }
}
