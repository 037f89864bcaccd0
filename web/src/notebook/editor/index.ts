// Everything that needs CodeMirror, as one lazily loaded module.

export { CodeEditor } from "./CodeEditor";
export { useLanguage } from "./languages";
export { tokensOf } from "./tokens";
