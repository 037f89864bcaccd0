import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const distAssetsFolder = new URL("dist/assets/", import.meta.url);
const assetFileNames = readdirSync(distAssetsFolder);

/** Returns the scripts and all scripts that they import statically, directly or not. */
function withStaticImports(scripts: readonly string[]): Set<string> {
  const found = new Set(scripts);
  for (const name of found) {
    const text = readFileSync(new URL(name, distAssetsFolder), "utf8");
    for (const [, next = ""] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) found.add(next);
  }
  return found;
}

/** Returns the files of a chunk that have the given extension. */
function filesOfChunk(chunk: string, extension: string): string[] {
  return assetFileNames.filter((name) => name.startsWith(`${chunk}-`) && name.endsWith(extension));
}

test("the console's first paint needs at most 150 kB of gzipped files", () => {
  const scripts = withStaticImports([...filesOfChunk("index", ".js"), ...filesOfChunk("console", ".js")]);
  const styles = ["index", "base", "notebook", "console"].flatMap((chunk) => filesOfChunk(chunk, ".css"));
  const sizes = [...scripts, ...styles].map((name) => gzipSync(readFileSync(new URL(name, distAssetsFolder))).length);
  expect(scripts.size).toBeGreaterThan(4);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(149_000); // index.html and /api/config need 1 kB
});
