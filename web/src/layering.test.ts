/// <reference types="vite/client" />
import { expect, test } from "vitest";

/**
 * Which folder of src may import which others. Each may import only what stands
 * above it, so that there are no cycles; its tests are held to the same.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  // Values and texts; nothing here knows of the page.
  styles: [],
  protocol: [], // what goes over the sockets, as types
  format: [], // numbers as people read them
  json: [], // reading what somebody else has written
  text: ["json"], // texts of anyone's making, so that they can be shown

  // The browser, controls, the server's API, the addresses of the pages.
  browser: [], // what the browser keeps and says: storage, theme, media queries
  ui: ["browser"], // buttons, dialogs, tabs: they know nothing of notebooks
  api: ["json", "protocol", "text", "ui"], // asking the server, and saying that it did not answer
  routes: ["api", "browser"],

  // One notebook: what it is, what can be done with it, and the session that carries it.
  store: ["json", "protocol"], // State, and the one reducer that changes it
  commands: ["protocol"], // what a person may do with the notebook that is shown, and how its cells are gone to
  agent: ["api", "browser", "commands", "json", "protocol", "store"], // the two sockets of a live session

  // What is drawn of it, each in its own place.
  outputs: ["browser", "commands", "format", "json", "protocol", "store", "text", "ui"],
  widgets: ["commands", "format", "json", "outputs", "protocol", "store", "text", "ui"],
  notebook: ["commands", "format", "json", "outputs", "protocol", "store", "text", "ui", "widgets"],
  variables: ["commands", "format", "json", "store", "text", "ui", "widgets"],
  panel: ["api", "commands", "format", "json", "outputs", "protocol", "routes", "store", "text", "ui"],
  flow: ["api", "browser", "format", "json", "outputs", "protocol", "text", "ui"],

  // The pages, which put the parts together.
  runs: [
    ...["api", "browser", "commands", "flow", "format", "json", "notebook", "outputs"],
    ...["panel", "protocol", "routes", "store", "text", "ui", "widgets"],
  ],
  console: [
    ...["agent", "api", "browser", "commands", "flow", "json", "notebook"],
    ...["panel", "protocol", "routes", "store", "ui", "variables"],
  ],
  app: ["api", "console", "runs", "ui"],
  "main.tsx": ["app", "browser", "styles"],
};

const files = import.meta.glob<string>("./**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });

/** `import … from "./x"`, `export … from "./x"`, `import "./x"`, `import("./x")`, `vi.mock("./x")`. */
const written = /(?:\bfrom |\bimport |\bimport\(|\bvi\.mock\()"(\.[^"]+)"/g;

/** What stands first in the path of a file from src: its folder, or its name. */
function folderOf(path: string): string {
  return path.split("/")[1] ?? "";
}

/** The folders that a file imports, its own left out. */
function importsOf(path: string, source: string): string[] {
  const named = [...source.matchAll(written)].map(([, to = ""]) => new URL(to, `http://src/${path}`).pathname);
  return [...new Set(named.map(folderOf))].filter((folder) => folder !== folderOf(path));
}

test("files import only what their folder may", () => {
  const wrong = Object.entries(files).flatMap(([path, source]) => {
    const may = mayImport[folderOf(path)];
    if (may === undefined) return [`${path} is in no folder of the table`];
    return importsOf(path, source).flatMap((to) => (may.includes(to) ? [] : [`${path} imports ${to}`]));
  });
  expect(wrong).toEqual([]);
});

test("arrows point one way, and each is of use", () => {
  const used = new Set(
    Object.entries(files).flatMap(([path, source]) => importsOf(path, source).map((to) => `${folderOf(path)} ${to}`)),
  );
  const order = Object.keys(mayImport);
  const arrows = Object.entries(mayImport).flatMap(([from, may]) => may.map((to) => [from, to] as const));
  expect(arrows.filter(([from, to]) => order.indexOf(to) >= order.indexOf(from))).toEqual([]);
  expect(arrows.filter(([from, to]) => !used.has(`${from} ${to}`))).toEqual([]);
});

test("what is imported is seen, however it is written", () => {
  const source = [
    'import { a } from "../store/store";',
    'import "../styles/base.css";',
    'import {\n  type B,\n} from "../../ui/b";',
    'export * from "./own";',
    'const lazy = () => import("../outputs/Outputs");',
    'import { useState } from "react";',
  ].join("\n");
  expect(importsOf("./panel/x.ts", source)).toEqual(["store", "styles", "ui", "outputs"]);
});
