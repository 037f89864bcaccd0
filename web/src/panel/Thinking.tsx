import { Fold } from "./Fold";
import { LongText } from "./LongText";
import { asText, oneLine } from "./text";

/** What the agent thought, folded to its first words. */
export function Thinking({ text, open, onToggle }: { text: string; open: boolean; onToggle: () => void }) {
  const thought = asText(text);
  return (
    <Fold name="Thought" look="prose" gist={open ? "" : oneLine(thought)} open={open} onToggle={onToggle}>
      <LongText text={thought} />
    </Fold>
  );
}
