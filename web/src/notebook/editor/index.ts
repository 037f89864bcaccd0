// All that needs CodeMirror, as one part that is loaded when the page already stands.

export { CodeEditor } from "./CodeEditor";
export { useLanguage } from "./languages";
export { tokensOf } from "./tokens";
