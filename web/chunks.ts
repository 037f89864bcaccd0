import { fileURLToPath } from "node:url";

/** What the bundler tells of its modules. */
interface Graph {
  getModuleInfo(id: string): { importedIds: readonly string[] } | null;
}

const idOf = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url));
const begin = [idOf("main.tsx")];
const consolePage = [idOf("console/ConsolePage.tsx")];
const travel = [idOf("runs/TimeTravel.tsx")];
const runs = ["RunsPage", "RunPage", "AttemptPage", "ComparePage"].map((page) => idOf(`runs/${page}.tsx`));

/**
 * The piece that a module comes in; null: the bundler decides. What the console needs
 * for its first paint comes in three: with all pages, with the notebook of the viewer
 * too, and its own. Left to itself the bundler makes twenty of them, by which of the
 * parts that come later share what, and those are larger when they are packed.
 */
export function chunkOf(id: string, graph: Graph): string | null {
  if (!needs(consolePage, graph).has(id) || needs(begin, graph).has(id)) return null;
  if (needs(runs, graph).has(id)) return "base";
  return needs(travel, graph).has(id) ? "notebook" : "console";
}

/** What is imported from the roots on, but for what is loaded when it is wanted. */
function needs(roots: readonly string[], graph: Graph): Set<string> {
  const found = new Set(roots);
  for (const id of found) for (const next of graph.getModuleInfo(id)?.importedIds ?? []) found.add(next);
  return found;
}
