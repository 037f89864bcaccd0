/// <reference types="vite/client" />
import { expect, test } from "vitest";

/**
 * The folders of src, in the order of their layers, and the folders that each may import.
 * A folder may import only folders above it, so there are no cycles. Tests obey the same table.
 */
const allowedImportsByFolder: Readonly<Record<string, string>> = {
  // Values and texts. Nothing here knows the page.
  styles: "",
  json: "", // JSON of unknown shape, and schemas to check it
  protocol: "json", // messages and API responses: types and schemas
  format: "", // numbers as people read them
  text: "json", // making any text safe and readable

  // The browser, controls, the server's API, the addresses of the pages.
  browser: "", // local storage, theme, media queries
  ui: "browser", // buttons, dialogs, tabs; nothing here knows notebooks
  api: "browser json protocol text ui", // requests to the server and their errors
  routes: "api browser", // addresses of the pages

  // One notebook: its state, the commands on it, the session that carries it.
  store: "json protocol", // State and the reducer that changes it
  commands: "protocol", // commands on the notebook on screen; navigation to its cells
  agent: "api browser commands json protocol store", // the two sockets of a live session

  // What is drawn of a notebook and its session.
  outputs: "browser commands format json protocol store text ui",
  widgets: "commands format json outputs protocol store text ui",
  notebook: "commands format json outputs protocol store text ui widgets",
  variables: "commands format json store text ui widgets",
  agentPanel: "api commands format json outputs protocol routes store text ui",
  person: "agentPanel browser commands json protocol store text ui", // the work of a person in place of an agent
  messages: "api browser format json outputs protocol text ui",

  // The pages, which put the parts together.
  runs: "agentPanel api browser commands format json messages notebook outputs protocol routes store text ui widgets",
  console: "agent agentPanel api browser commands json messages notebook person protocol routes store ui variables",
  app: "api console runs ui",
  "main.tsx": "api app browser styles",
};

const foldersWithImports = Object.entries(allowedImportsByFolder).map(
  ([folder, imports]) => [folder, imports.split(" ").filter(Boolean)] as const,
);
const allowedImports = new Map(foldersWithImports);

const sourcesByPath = import.meta.glob<string>("./**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });

/** Matches `import … from "./x"`, `export … from "./x"`, `import "./x"`, `import("./x")` and `vi.mock("./x")`. */
const importPattern = /(?:\bfrom |\bimport |\bimport\(|\bvi\.mock\()"(\.[^"]+)"/g;

/** Returns the first part of a path below src: the folder, or the name of a file directly in src. */
function folderOf(path: string): string {
  return path.split("/")[1] ?? "";
}

/** Returns the folders that a file imports, without its own. */
function importedFoldersOf(path: string, source: string): string[] {
  const paths = [...source.matchAll(importPattern)].map(([, to = ""]) => new URL(to, `http://src/${path}`).pathname);
  return [...new Set(paths.map(folderOf))].filter((folder) => folder !== folderOf(path));
}

test("files import only the folders that their folder may import", () => {
  const wrong = Object.entries(sourcesByPath).flatMap(([path, source]) => {
    const may = allowedImports.get(folderOf(path));
    if (may === undefined) return [`${path} is in a folder that the table does not have`];
    return importedFoldersOf(path, source).flatMap((to) => (may.includes(to) ? [] : [`${path} imports ${to}`]));
  });
  expect(wrong).toEqual([]);
});

test("imports go one way, and every allowed import is used", () => {
  const used = new Set(
    Object.entries(sourcesByPath).flatMap(([path, source]) =>
      importedFoldersOf(path, source).map((to) => `${folderOf(path)} ${to}`),
    ),
  );
  const order = foldersWithImports.map(([folder]) => folder);
  const pairs = foldersWithImports.flatMap(([from, may]) => may.map((to) => [from, to] as const));
  expect(pairs.filter(([from, to]) => order.indexOf(to) >= order.indexOf(from))).toEqual([]);
  expect(pairs.filter(([from, to]) => !used.has(`${from} ${to}`))).toEqual([]);
});

test("importsOf finds imports, exports, side-effect imports and dynamic imports", () => {
  const source = [
    'import { a } from "../store/store";',
    'import "../styles/base.css";',
    'import {\n  type B,\n} from "../../ui/b";',
    'export * from "./sibling";',
    'const lazy = () => import("../outputs/Outputs");',
    'import { useState } from "react";',
  ].join("\n");
  expect(importedFoldersOf("./agentPanel/x.ts", source)).toEqual(["store", "styles", "ui", "outputs"]);
});
