import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

/** Marks what the notebook's search has found; null: nothing. */
export const markHit = StateEffect.define<{ from: number; to: number } | null>();

const mark = Decoration.mark({ class: "cm-hit" });

/** The mark, which goes with the text that it is on. */
export const hitMark = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, change) {
    let next = marks.map(change.changes);
    for (const effect of change.effects) {
      if (!effect.is(markHit)) continue;
      const hit = effect.value;
      const fits = hit !== null && hit.from < hit.to && hit.to <= change.newDoc.length;
      next = fits ? Decoration.set(mark.range(hit.from, hit.to)) : Decoration.none;
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});
