// The languages that code is highlighted as, by what kernels call them.

import { pythonLanguage } from "@codemirror/lang-python";
import { type Language, StreamLanguage, type StreamParser } from "@codemirror/language";
import { useEffect, useState } from "react";

type Mode = Promise<StreamParser<unknown>>;

// Each mode is a file of its own, fetched when a notebook is in that language.
const modes: Record<string, () => Mode> = {
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

const aliases: Record<string, string> = {
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

const loaded = new Map<string, Promise<Language | null>>();

/** The language of that name; null: none is known, and its code is shown plain. */
export function loadLanguage(name: string): Promise<Language | null> {
  const key = Object.hasOwn(aliases, name.toLowerCase()) ? (aliases[name.toLowerCase()] ?? name) : name.toLowerCase();
  const known = loaded.get(key) ?? define(key);
  loaded.set(key, known);
  return known;
}

async function define(key: string): Promise<Language | null> {
  if (isPython(key)) return pythonLanguage;
  const mode = Object.hasOwn(modes, key) ? modes[key] : undefined;
  if (mode === undefined) return null;
  try {
    return StreamLanguage.define(await mode());
  } catch {
    loaded.delete(key); // the server could not be reached: whoever needs it next asks again
    return null;
  }
}

/** The language of that name; null until it is there, and when none is known. */
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
