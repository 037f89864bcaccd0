import Copy from "lucide-react/icons/copy";
import { useState } from "react";
import { Button } from "../ui/Button";

/** Copies a text, and says whether that was possible. */
export function CopyButton({ text }: { text: () => string }) {
  const [said, setSaid] = useState("Copy");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setSaid("Copied");
    } catch {
      setSaid("Could not copy: the browser does not allow it here");
    }
  };
  return (
    <Button variant="quiet" onClick={copy} onBlur={() => setSaid("Copy")}>
      <Copy size={14} aria-hidden />
      <span aria-live="polite">{said}</span>
    </Button>
  );
}
