// @vitest-environment node
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const assets = new URL("dist/assets/", import.meta.url);
const names = readdirSync(assets);

/** What a piece imports when it is loaded, and what these import. */
function withImports(roots: readonly string[]): Set<string> {
  const found = new Set(roots);
  for (const name of found) {
    const text = readFileSync(new URL(name, assets), "utf8");
    for (const [, next = ""] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) found.add(next);
  }
  return found;
}

/** The piece whose name begins so. */
function piece(beginning: string, ending: string): string[] {
  return names.filter((name) => name.startsWith(`${beginning}-`) && name.endsWith(ending));
}

test("the console needs at most 150 kB for its first paint, packed by gzip", () => {
  const scripts = withImports([...piece("index", ".js"), ...piece("console", ".js")]);
  const styles = ["index", "base", "notebook", "console"].flatMap((name) => piece(name, ".css"));
  const sizes = [...scripts, ...styles].map((name) => gzipSync(readFileSync(new URL(name, assets))).length);
  expect(scripts.size).toBeGreaterThan(4);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(149_000); // the page itself and /api/config have 1 kB
});
