// Who this page is to the server: the same console when it is loaded again, another
// one when its tab was duplicated, which takes a copy of the session storage along.

import { readTab, removeTab, tabKeys, writeTab } from "../browser/tabStorage";

const idKey = "assay.console";
const indexKey = (session: string) => `assay.connection.${session}`;

/** How long another page has to say that it is the one, in milliseconds. */
const claimMs = 150;

const page = crypto.randomUUID();
let mine: Promise<number> | null = null;

/** The number by which this page is known: made up once, and kept while its tab is. */
export function consoleId(): Promise<number> {
  mine ??= settle();
  return mine;
}

async function settle(): Promise<number> {
  const stored = Number(readTab(idKey));
  const channel = open();
  const kept = Number.isSafeInteger(stored) && stored > 0;
  const id = kept && (isReload() || !(await isTaken(channel, stored))) ? stored : newId();
  if (id !== stored) forgetOf(stored);
  writeTab(idKey, String(id));
  defend(channel, id);
  return id;
}

function newId(): number {
  const [number = 1] = crypto.getRandomValues(new Uint32Array(1));
  return number + 1;
}

function isReload(): boolean {
  const [entry] = performance.getEntriesByType?.("navigation") ?? [];
  return entry !== undefined && "type" in entry && entry.type === "reload";
}

function open(): BroadcastChannel | null {
  try {
    return typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(idKey);
  } catch {
    return null;
  }
}

/** Asks the other pages whether one of them has that id. */
function isTaken(channel: BroadcastChannel | null, id: number): Promise<boolean> {
  if (channel === null) return Promise.resolve(false);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), claimMs);
    channel.onmessage = ({ data }) => {
      if (data?.taken !== id || data.page === page) return;
      clearTimeout(timer);
      resolve(true);
    };
    if (!say(channel, { asks: id, page })) resolve(false);
  });
}

/** false: it was not said. */
function say(channel: BroadcastChannel, data: unknown): boolean {
  try {
    channel.postMessage(data);
    return true;
  } catch {
    return false;
  }
}

/** Tells other pages that ask that this id is taken. */
function defend(channel: BroadcastChannel | null, id: number): void {
  if (channel === null) return;
  channel.onmessage = ({ data }) => {
    if (data?.asks === id && data.page !== page) say(channel, { taken: id, page });
  };
}

/** What was kept of a console that is another now. */
function forgetOf(id: number): void {
  if (id <= 0) return;
  for (const key of tabKeys()) {
    if (key.startsWith(indexKey(""))) removeTab(key);
  }
}

/** The number that the server gave a console at /run, and the trace of the session in which it did. */
export interface Given {
  /** 0: none was given. */
  index: number;
  /** "": that is not known. */
  trace: string;
}

/** What this console was given last. */
export function lastGiven(session: string): Given {
  const kept = readTab(indexKey(session)) ?? "";
  const space = kept.indexOf(" ");
  const index = Number(kept.slice(0, Math.max(space, 0)));
  return { index: Number.isSafeInteger(index) && index > 0 ? index : 0, trace: kept.slice(space + 1) };
}

export function keepGiven(session: string, { index, trace }: Given): void {
  writeTab(indexKey(session), `${index} ${trace}`);
}
