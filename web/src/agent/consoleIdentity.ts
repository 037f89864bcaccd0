// Identifies this page to the server: a reloaded page is the same console, but a duplicated tab, which gets
// a copy of the session storage, is another one.

import { readTabStorage, removeFromTabStorage, tabStorageKeys, writeTabStorage } from "../browser/tabStorage";

const consoleIdKey = "assay.console";
const connectionNumberKey = (session: string) => `assay.connection.${session}`;

/** How many milliseconds other pages have to answer that they use a console id. */
const consoleIdClaimTimeoutMs = 150;

const pageId = crypto.randomUUID();
let currentConsoleId: Promise<number> | null = null;

/**
 * Resolves to the number that identifies this page to the server. It is created once and kept until
 * its tab is closed.
 */
export function getConsoleId(): Promise<number> {
  currentConsoleId ??= chooseConsoleId();
  return currentConsoleId;
}

async function chooseConsoleId(): Promise<number> {
  const stored = Number(readTabStorage(consoleIdKey));
  const channel = openConsoleIdChannel();
  const isStored = Number.isSafeInteger(stored) && stored > 0;
  const id = isStored && (isPageReload() || !(await isConsoleIdTaken(channel, stored))) ? stored : newConsoleId();
  if (id !== stored) forgetConnectionNumbers(stored);
  writeTabStorage(consoleIdKey, String(id));
  answerConsoleIdClaims(channel, id);
  return id;
}

function newConsoleId(): number {
  const [number = 1] = crypto.getRandomValues(new Uint32Array(1));
  return number + 1;
}

function isPageReload(): boolean {
  const [entry] = performance.getEntriesByType?.("navigation") ?? [];
  return entry !== undefined && "type" in entry && entry.type === "reload";
}

function openConsoleIdChannel(): BroadcastChannel | null {
  try {
    return typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(consoleIdKey);
  } catch {
    return null;
  }
}

/** Asks the other pages of the browser whether one of them uses the console id. */
function isConsoleIdTaken(channel: BroadcastChannel | null, id: number): Promise<boolean> {
  if (channel === null) return Promise.resolve(false);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), consoleIdClaimTimeoutMs);
    channel.onmessage = ({ data }) => {
      if (data?.taken !== id || data.page === pageId) return;
      clearTimeout(timer);
      resolve(true);
    };
    if (!postToOtherPages(channel, { asks: id, pageId })) resolve(false);
  });
}

/** Posts a message to the browser's other pages. Returns false if that failed. */
function postToOtherPages(channel: BroadcastChannel, data: unknown): boolean {
  try {
    channel.postMessage(data);
    return true;
  } catch {
    return false;
  }
}

/** Answers other pages that ask whether a page uses this console id. */
function answerConsoleIdClaims(channel: BroadcastChannel | null, id: number): void {
  if (channel === null) return;
  channel.onmessage = ({ data }) => {
    if (data?.asks === id && data.page !== pageId) postToOtherPages(channel, { taken: id, pageId });
  };
}

/** Removes the stored connection numbers of a console id that is no longer used. */
function forgetConnectionNumbers(id: number): void {
  if (id <= 0) return;
  for (const key of tabStorageKeys()) {
    if (key.startsWith(connectionNumberKey(""))) removeFromTabStorage(key);
  }
}

/** The number that the server gave a console at /run, and the session's trace. */
export interface ConnectionNumber {
  /** 0: none was given. */
  index: number;
  /** The trace of the session that gave it; "": unknown. */
  trace: string;
}

/** Returns the connection number that this console got last in a session. */
export function loadConnectionNumber(session: string): ConnectionNumber {
  const saved = readTabStorage(connectionNumberKey(session)) ?? "";
  const space = saved.indexOf(" ");
  const index = Number(saved.slice(0, Math.max(space, 0)));
  return { index: Number.isSafeInteger(index) && index > 0 ? index : 0, trace: saved.slice(space + 1) };
}

export function saveConnectionNumber(session: string, { index, trace }: ConnectionNumber): void {
  writeTabStorage(connectionNumberKey(session), `${index} ${trace}`);
}
