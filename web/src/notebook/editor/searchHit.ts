import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

/** Sets the range of the search hit that is marked in an editor; null removes the mark. */
export const setSearchHit = StateEffect.define<{ from: number; to: number } | null>();

const hitDecoration = Decoration.mark({ class: "cm-hit" });

/** Holds the mark of the search hit in an editor. The mark moves with the text when the document changes. */
export const searchHitField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, change) {
    let next = marks.map(change.changes);
    for (const effect of change.effects) {
      if (!effect.is(setSearchHit)) continue;
      const hit = effect.value;
      const fits = hit !== null && hit.from < hit.to && hit.to <= change.newDoc.length;
      next = fits ? Decoration.set(hitDecoration.range(hit.from, hit.to)) : Decoration.none;
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});
