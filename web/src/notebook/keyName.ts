/** The part of a keyboard event that tells which key it is. */
export type Pressed = Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

/**
 * What the table of keys calls what was pressed: "Mod-" (Ctrl, or Cmd), "Alt-"
 * and "Shift-" before the key. A character stands for itself with its Shift: "?",
 * "K"; the state of Caps Lock and of a layout that is not Latin does not matter.
 */
export function keyName(event: Pressed): string {
  const mod = event.ctrlKey || event.metaKey;
  const key = latin(event);
  const prefix = `${mod ? "Mod-" : ""}${event.altKey ? "Alt-" : ""}`;
  if (key.length > 1) return `${prefix}${event.shiftKey ? "Shift-" : ""}${key}`;
  if (!/^[a-z]$/i.test(key)) return prefix + key;
  if (mod || event.altKey) return `${prefix}${event.shiftKey ? "Shift-" : ""}${key.toLowerCase()}`;
  return event.shiftKey ? key.toUpperCase() : key.toLowerCase();
}

/** The character of the key, or the one that a Latin layout has there. */
function latin({ key, code }: Pressed): string {
  const letter = /^Key([A-Z])$/.exec(code)?.[1];
  return letter !== undefined && key.length === 1 && key.charCodeAt(0) > 127 ? letter : key;
}

const signs: Record<string, string> = {
  Mod: "Ctrl",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
};

const macSigns: Record<string, string> = { ...signs, Mod: "⌘", Alt: "⌥", Shift: "⇧" };

/** The keys to press, each as it is written on a keyboard: "Ctrl", "Shift", "↑". */
export function keySigns(name: string, mac: boolean): string[] {
  const known = mac ? macSigns : signs;
  return name.split(/[- ](?=.)/).map((part) => known[part] ?? part);
}

/** The keyboard has a Cmd key where others have Ctrl. */
export function onMac(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.platform);
}
