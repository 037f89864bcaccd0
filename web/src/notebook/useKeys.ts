import { type ClipboardEvent, type KeyboardEvent, type PointerEvent, useMemo } from "react";
import { type Desk, useDesk } from "./desk";
import { type Held, holdKey } from "./hold";
import { keyName } from "./keyName";
import { press, type Where } from "./press";

export interface KeyHandlers {
  onKeyDownCapture: (event: KeyboardEvent) => void;
  onKeyDown: (event: KeyboardEvent) => void;
  onPasteCapture: (event: ClipboardEvent) => void;
  onPointerDownCapture: (event: PointerEvent) => void;
}

/** Handlers that do what the table of keys says, for the element that all cells are in. */
export function useKeys(): KeyHandlers {
  const desk = useDesk();
  return useMemo(() => keyHandlers(desk), [desk]);
}

function keyHandlers(desk: Desk): KeyHandlers {
  const heldFor = (target: EventTarget): Held | null => {
    if (desk.hold.late()) desk.view.set({ note: { tone: "bad", text: tooLate } });
    return inWidget(target) ? null : desk.hold.now();
  };
  const handle = (event: KeyboardEvent, where: Where) => {
    if (event.nativeEvent.isComposing || event.defaultPrevented) return;
    const { repeat, timeStamp: at } = event;
    if (!press(desk, { name: keyName(event.nativeEvent), at, repeat }, where)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return {
    // Before the editor: what runs and moves cells is not the editor's to take.
    onKeyDownCapture(event) {
      const held = heldFor(event.target);
      if (held !== null) {
        event.stopPropagation();
        if (holdKey(held, event.nativeEvent)) event.preventDefault();
        return;
      }
      if (inEditor(event.target) && event.key !== "Escape") handle(event, "edit");
    },
    // After the editor: it closes its own panels with Escape first.
    onKeyDown(event) {
      if (inEditor(event.target) && event.key === "Escape") handle(event, "edit");
      else if (ownsCommands(event.target)) handle(event, "command");
      else if (inControls(event.target) && event.key === "Escape") handle(event, "edit");
    },
    onPasteCapture(event) {
      const held = heldFor(event.target);
      if (held === null) return;
      event.preventDefault();
      event.stopPropagation();
      const text = event.clipboardData.getData("text/plain");
      held.steps.push({ name: "Paste", text, at: event.timeStamp });
    },
    // Who points somewhere wants the keys to go there.
    onPointerDownCapture() {
      desk.hold.end();
    },
  };
}

const tooLate = "The server did not answer in time: the keys that you pressed meanwhile did nothing.";

function inEditor(target: EventTarget): boolean {
  return target instanceof Element && target.closest(".cm-content") !== null;
}

/** What takes text and is not of the notebook itself, such as a widget. */
function inWidget(target: EventTarget): boolean {
  return target instanceof Element && target.closest("input, textarea, select") !== null;
}

/** The notebook's own buttons: Escape leads from them back to the cell. */
function inControls(target: EventTarget): boolean {
  return target instanceof Element && target.closest("[data-keys='controls']") !== null;
}

/** A cell itself has the focus, or the ground beneath: not a control, a widget, an output in one. */
function ownsCommands(target: EventTarget): boolean {
  return target instanceof HTMLElement && target.dataset.keys === "notebook";
}
