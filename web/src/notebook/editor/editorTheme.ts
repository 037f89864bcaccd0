import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

/** The CodeMirror theme: it uses the page's design tokens and the same metrics as StaticCode. */
export function editorTheme(): Extension {
  return [styleNonce(), themeStyles];
}

/**
 * Returns an extension with the page's nonce, which style elements need because of the Content-
 * Security-Policy.
 */
function styleNonce(): Extension {
  const found = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content;
  return found ? EditorView.cspNonce.of(found) : [];
}

const themeStyles = EditorView.theme({
  "&": { color: "var(--fg)", backgroundColor: "transparent", fontSize: "var(--size-code)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px" },
  ".cm-content": { padding: "var(--code-block) 0", caretColor: "var(--fg)" },
  ".cm-line": { padding: "0 var(--code-inline)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-bg)", outline: "1px solid var(--accent)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--bad-bg)" },
  ".cm-specialChar": { color: "var(--bad)" },
  ".cm-hit, .cm-searchMatch": { backgroundColor: "var(--warn-bg)", outline: "1px solid var(--warn)" },
  ".cm-selectionMatch": { backgroundColor: "var(--bg-hover)" },
  ".cm-panels": { backgroundColor: "var(--bg-raised)", color: "var(--fg)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-textfield, .cm-button": {
    backgroundColor: "var(--bg)",
    backgroundImage: "none",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius)",
    color: "var(--fg)",
  },
});
