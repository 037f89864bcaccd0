/** The fields of a keyboard event that identify a key. */
export type KeyFields = Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

/**
 * Returns the name of a key as the table of shortcuts has it: "Mod-" (Ctrl or Cmd), "Alt-" and
 * "Shift-" before the key. A character includes its Shift: "?", "K". Caps Lock and non-Latin
 * layouts make no difference.
 */
export function keyName(event: KeyFields): string {
  const mod = event.ctrlKey || event.metaKey;
  const key = latinCharacter(event);
  const prefix = `${mod ? "Mod-" : ""}${event.altKey ? "Alt-" : ""}`;
  if (key.length > 1) return `${prefix}${event.shiftKey ? "Shift-" : ""}${key}`;
  if (!/^[a-z]$/i.test(key)) return prefix + key;
  if (mod || event.altKey) return `${prefix}${event.shiftKey ? "Shift-" : ""}${key.toLowerCase()}`;
  return event.shiftKey ? key.toUpperCase() : key.toLowerCase();
}

/** Returns the character of a key; on a non-Latin keyboard layout, the Latin letter on that key. */
function latinCharacter({ key, code }: KeyFields): string {
  const letter = /^Key([A-Z])$/.exec(code)?.[1];
  return letter !== undefined && key.length === 1 && key.charCodeAt(0) > 127 ? letter : key;
}

const keyLabels: Record<string, string> = {
  Mod: "Ctrl",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
};

const macKeyLabels: Record<string, string> = { ...keyLabels, Mod: "⌘", Alt: "⌥", Shift: "⇧" };

/** Returns the labels of a shortcut's keys, such as "Ctrl", "Shift", "↑". */
export function labelsOfShortcut(name: string, mac: boolean): string[] {
  const known = mac ? macKeyLabels : keyLabels;
  return name.split(/[- ](?=.)/).map((part) => known[part] ?? part);
}

/** Reports whether the keyboard has a Cmd key that is used instead of Ctrl. */
export function isMacKeyboard(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.platform);
}
