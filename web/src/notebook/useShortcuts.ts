import { type ClipboardEvent, type KeyboardEvent, type PointerEvent, useMemo } from "react";
import { executeShortcut, type ShortcutMode } from "./executeShortcut";
import { type BufferedKeyBatch, bufferKey } from "./keyBuffer";
import { keyName } from "./keyName";
import { type NotebookContext, useNotebookContext } from "./notebookContext";

export interface KeyHandlers {
  onKeyDownCapture: (event: KeyboardEvent) => void;
  onKeyDown: (event: KeyboardEvent) => void;
  onPasteCapture: (event: ClipboardEvent) => void;
  onPointerDownCapture: (event: PointerEvent) => void;
}

/** Returns the event handlers of the keyboard shortcuts, for the element that contains all cells. */
export function useShortcuts(): KeyHandlers {
  const context = useNotebookContext();
  return useMemo(() => createKeyHandlers(context), [context]);
}

function createKeyHandlers(context: NotebookContext): KeyHandlers {
  const bufferFor = (target: EventTarget): BufferedKeyBatch | null => {
    if (context.keyBuffer.takeTimeout()) context.view.set({ note: { tone: "bad", text: keysIgnoredText } });
    return isInWidget(target) ? null : context.keyBuffer.current();
  };
  const handle = (event: KeyboardEvent, where: ShortcutMode) => {
    if (event.nativeEvent.isComposing || event.defaultPrevented) return;
    const { repeat, timeStamp: at } = event;
    if (!executeShortcut(context, { name: keyName(event.nativeEvent), at, repeat }, where)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return {
    // Runs before the editor handles the key: shortcuts that run and move cells take precedence.
    onKeyDownCapture(event) {
      const held = bufferFor(event.target);
      if (held !== null) {
        event.stopPropagation();
        if (bufferKey(held, event.nativeEvent)) event.preventDefault();
        return;
      }
      if (isInEditor(event.target) && event.key !== "Escape") handle(event, "edit");
    },
    // Runs after the editor has handled the key: Escape closes the editor's own panels first.
    onKeyDown(event) {
      if (isInEditor(event.target) && event.key === "Escape") handle(event, "edit");
      else if (isCellOrList(event.target)) handle(event, "command");
      else if (isInControls(event.target) && event.key === "Escape") handle(event, "edit");
    },
    onPasteCapture(event) {
      const held = bufferFor(event.target);
      if (held === null) return;
      event.preventDefault();
      event.stopPropagation();
      const text = event.clipboardData.getData("text/plain");
      held.keys.push({ name: "Paste", text, at: event.timeStamp });
    },
    // A click ends the buffering: the next keys go to where the user clicked.
    onPointerDownCapture() {
      context.keyBuffer.stop();
    },
  };
}

const keysIgnoredText = "The server did not respond in time. The keys you pressed meanwhile were ignored.";

function isInEditor(target: EventTarget): boolean {
  return target instanceof Element && target.closest(".cm-content") !== null;
}

/** Reports whether an event comes from a text field that is not a cell's editor, such as a widget. */
function isInWidget(target: EventTarget): boolean {
  return target instanceof Element && target.closest("input, textarea, select") !== null;
}

/** Reports whether an event comes from the notebook's buttons, where Escape returns to the cell. */
function isInControls(target: EventTarget): boolean {
  return target instanceof Element && target.closest("[data-keys='controls']") !== null;
}

/**
 * Reports whether an event's target is a cell or the list itself rather than a control, widget or
 * output in it.
 */
function isCellOrList(target: EventTarget): boolean {
  return target instanceof HTMLElement && target.dataset.keys === "notebook";
}
