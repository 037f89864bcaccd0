import { type ClipboardEvent, type KeyboardEvent, useMemo } from "react";
import { type Desk, useDesk } from "./desk";
import { holdKey } from "./hold";
import { keyName } from "./keyName";
import { type Key, keys } from "./keys";

/** So long after the first key of two the second one still belongs to it. */
const chordMs = 800;

export interface KeyHandlers {
  onKeyDownCapture: (event: KeyboardEvent) => void;
  onKeyDown: (event: KeyboardEvent) => void;
  onPasteCapture: (event: ClipboardEvent) => void;
}

/** Handlers that do what the table of keys says, for the element that all cells are in. */
export function useKeys(): KeyHandlers {
  const desk = useDesk();
  return useMemo(() => keyHandlers(desk), [desk]);
}

function keyHandlers(desk: Desk): KeyHandlers {
  let first: { key: string; at: number } | null = null;
  const handle = (event: KeyboardEvent, where: "command" | "edit") => {
    if (event.nativeEvent.isComposing || event.defaultPrevented) return;
    const name = keyName(event.nativeEvent);
    const chord = first !== null && event.timeStamp - first.at < chordMs ? `${first.key} ${name}` : name;
    first = event.repeat ? null : { key: name, at: event.timeStamp };
    const found = find(chord, where) ?? find(name, where);
    if (found === null || (desk.commands() === null && !found.reads)) return;
    event.preventDefault();
    event.stopPropagation();
    first = null;
    if (!event.repeat || found.repeats) found.act(desk);
  };
  return {
    // Before the editor: what runs and moves cells is not the editor's to take.
    onKeyDownCapture(event) {
      const held = inWidget(event.target) ? null : desk.hold.now();
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
      const held = inWidget(event.target) ? null : desk.hold.now();
      if (held === null) return;
      event.preventDefault();
      event.stopPropagation();
      if (held.editing) held.text += event.clipboardData.getData("text/plain");
    },
  };
}

function find(name: string, where: "command" | "edit"): Key | null {
  return keys.find((key) => (key.where === where || key.where === "both") && key.keys.includes(name)) ?? null;
}

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
