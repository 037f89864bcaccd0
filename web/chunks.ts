import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The part of the bundler's module graph that createChunkNamer reads. */
interface ModuleGraph {
  getModuleInfo(id: string): { importedIds: readonly string[] } | null;
}

/** Returns the bundler's id of a module in src. Throws if there is no such file, for example after a rename. */
function moduleIdOfSource(path: string): string {
  const id = fileURLToPath(new URL(`src/${path}`, import.meta.url));
  if (!existsSync(id)) throw new Error(`chunks.ts names ${path}, which is not in src`);
  return id;
}

const entryModules = [moduleIdOfSource("main.tsx")];
const consoleModules = [moduleIdOfSource("console/ConsolePage.tsx")];
const timelineModules = [moduleIdOfSource("runs/TimelineView.tsx")];
const runsModules = ["RunsPage", "RunPage", "AttemptPage", "ComparePage"].map((page) =>
  moduleIdOfSource(`runs/${page}.tsx`),
);

/**
 * Returns the function that names the chunk of a module for one build; its null leaves the choice to
 * the bundler. What the console needs for its first paint is in three chunks: "base" is shared with
 * all pages, "notebook" with the viewer's timeline, "console" is the console's own. The bundler
 * alone would make about twenty chunks, one for each set of lazily loaded parts that share modules,
 * and their gzip sizes add up to more. Icons of later parts are in one chunk, because each of them
 * is smaller than a request. This works only for icons that are imported one by one: the package's
 * index imports all of them.
 */
export function createChunkNamer(): (id: string, graph: ModuleGraph) => string | null {
  let sets: Record<"entry" | "console" | "timeline" | "runs", Set<string>> | undefined;
  return (id, graph) => {
    // The graph is complete when the bundler asks for the first name.
    sets ??= {
      entry: withStaticImports(entryModules, graph),
      console: withStaticImports(consoleModules, graph),
      timeline: withStaticImports(timelineModules, graph),
      runs: withStaticImports(runsModules, graph),
    };
    if (sets.entry.has(id)) return null;
    if (!sets.console.has(id)) return id.includes("/lucide-react/") ? "icons" : null;
    if (sets.runs.has(id)) return "base";
    return sets.timeline.has(id) ? "notebook" : "console";
  };
}

/** Returns the roots and all modules that they import, directly or not. import() does not count. */
function withStaticImports(roots: readonly string[], graph: ModuleGraph): Set<string> {
  const found = new Set(roots);
  for (const id of found) for (const next of graph.getModuleInfo(id)?.importedIds ?? []) found.add(next);
  return found;
}
