// Syntax highlighting by the language names that kernels report.

import { pythonLanguage } from "@codemirror/lang-python";
import { type Language, StreamLanguage, type StreamParser } from "@codemirror/language";
import { useEffect, useState } from "react";

type ModeLoader = Promise<StreamParser<unknown>>;

// Each mode is its own chunk, loaded when a notebook uses that language.
const languageModes: Record<string, () => ModeLoader> = {
  c: () => import("@codemirror/legacy-modes/mode/clike").then((mode) => mode.c),
  clojure: () => import("@codemirror/legacy-modes/mode/clojure").then((mode) => mode.clojure),
  cpp: () => import("@codemirror/legacy-modes/mode/clike").then((mode) => mode.cpp),
  go: () => import("@codemirror/legacy-modes/mode/go").then((mode) => mode.go),
  haskell: () => import("@codemirror/legacy-modes/mode/haskell").then((mode) => mode.haskell),
  java: () => import("@codemirror/legacy-modes/mode/clike").then((mode) => mode.java),
  javascript: () => import("@codemirror/legacy-modes/mode/javascript").then((mode) => mode.javascript),
  julia: () => import("@codemirror/legacy-modes/mode/julia").then((mode) => mode.julia),
  kotlin: () => import("@codemirror/legacy-modes/mode/clike").then((mode) => mode.kotlin),
  lisp: () => import("@codemirror/legacy-modes/mode/commonlisp").then((mode) => mode.commonLisp),
  lua: () => import("@codemirror/legacy-modes/mode/lua").then((mode) => mode.lua),
  octave: () => import("@codemirror/legacy-modes/mode/octave").then((mode) => mode.octave),
  perl: () => import("@codemirror/legacy-modes/mode/perl").then((mode) => mode.perl),
  r: () => import("@codemirror/legacy-modes/mode/r").then((mode) => mode.r),
  ruby: () => import("@codemirror/legacy-modes/mode/ruby").then((mode) => mode.ruby),
  rust: () => import("@codemirror/legacy-modes/mode/rust").then((mode) => mode.rust),
  scala: () => import("@codemirror/legacy-modes/mode/clike").then((mode) => mode.scala),
  scheme: () => import("@codemirror/legacy-modes/mode/scheme").then((mode) => mode.scheme),
  shell: () => import("@codemirror/legacy-modes/mode/shell").then((mode) => mode.shell),
  sql: () => import("@codemirror/legacy-modes/mode/sql").then((mode) => mode.standardSQL),
  typescript: () => import("@codemirror/legacy-modes/mode/javascript").then((mode) => mode.typescript),
};

const languageAliases: Record<string, string> = {
  "c++": "cpp",
  bash: "shell",
  "common-lisp": "lisp",
  commonlisp: "lisp",
  elisp: "lisp",
  "emacs-lisp": "lisp",
  js: "javascript",
  matlab: "octave",
  sh: "shell",
  ts: "typescript",
};

const loadedLanguages = new Map<string, Promise<Language | null>>();

/**
 * Loads the CodeMirror language with a name; resolves to null if the name is unknown, and code is
 * then not highlighted.
 */
export function loadLanguage(name: string): Promise<Language | null> {
  const key = Object.hasOwn(languageAliases, name.toLowerCase())
    ? (languageAliases[name.toLowerCase()] ?? name)
    : name.toLowerCase();
  const known = loadedLanguages.get(key) ?? loadMode(key);
  loadedLanguages.set(key, known);
  return known;
}

async function loadMode(key: string): Promise<Language | null> {
  if (isPython(key)) return pythonLanguage;
  const mode = Object.hasOwn(languageModes, key) ? languageModes[key] : undefined;
  if (mode === undefined) return null;
  try {
    return StreamLanguage.define(await mode());
  } catch {
    loadedLanguages.delete(key); // the server could not be reached: the next call tries again
    return null;
  }
}

/**
 * Returns the CodeMirror language with a name; null if the name is unknown or the language is not
 * loaded yet.
 */
export function useLanguage(name: string): Language | null {
  const [found, setFound] = useState<{ name: string; language: Language | null } | null>(null);
  useEffect(() => {
    let gone = false;
    if (!isPython(name)) loadLanguage(name).then((language) => !gone && setFound({ name, language }));
    return () => {
      gone = true;
    };
  }, [name]);
  if (isPython(name)) return pythonLanguage;
  return found?.name === name ? found.language : null;
}

function isPython(name: string): boolean {
  return /^(i?python[0-9.]*|py)$/i.test(name);
}
