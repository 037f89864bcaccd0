import { textOrJSON } from "../json/values";
import { oneLine } from "../text/displayText";
import { Fold } from "./Fold";
import { LongText } from "./LongText";

/** What the agent thought, folded to its first words. */
export function Thinking({ text, open, onToggle }: { text: string; open: boolean; onToggle: () => void }) {
  const thought = textOrJSON(text);
  return (
    <Fold name="Thought" look="prose" gist={open ? "" : oneLine(thought)} open={open} onToggle={onToggle}>
      <LongText text={thought} />
    </Fold>
  );
}
