import Copy from "lucide-react/icons/copy";
import { useState } from "react";
import { Button } from "../ui/Button";

/** Renders a button that copies the text to the clipboard, and then shows whether that succeeded. */
export function CopyButton({ text }: { text: () => string }) {
  const [label, setLabel] = useState("Copy");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setLabel("Copied");
    } catch {
      setLabel("Could not copy: the browser does not allow it");
    }
  };
  return (
    <Button variant="quiet" onClick={copy} onBlur={() => setLabel("Copy")}>
      <Copy size={14} aria-hidden />
      <span aria-live="polite">{label}</span>
    </Button>
  );
}
