// Who this page is to the server: the same console when it is loaded again, another
// one when its tab was duplicated, which takes a copy of the session storage along.

import { readTab, removeTab, tabKeys, writeTab } from "../browser/tabStorage";

const idKey = "assay.console";
const indexKey = (session: string) => `assay.connection.${session}`;

/** How long another page has to answer that it has the id. */
const claimTimeoutMs = 150;

const pageId = crypto.randomUUID();
let ownId: Promise<number> | null = null;

/** Returns the number that identifies this page, which is created once and kept as long as its tab. */
export function getConsoleId(): Promise<number> {
  ownId ??= chooseId();
  return ownId;
}

async function chooseId(): Promise<number> {
  const stored = Number(readTab(idKey));
  const channel = openChannel();
  const isStored = Number.isSafeInteger(stored) && stored > 0;
  const id = isStored && (isReload() || !(await isTaken(channel, stored))) ? stored : newId();
  if (id !== stored) forgetConnections(stored);
  writeTab(idKey, String(id));
  answerClaims(channel, id);
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

function openChannel(): BroadcastChannel | null {
  try {
    return typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(idKey);
  } catch {
    return null;
  }
}

/** Asks the other pages whether one of them has the id. */
function isTaken(channel: BroadcastChannel | null, id: number): Promise<boolean> {
  if (channel === null) return Promise.resolve(false);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), claimTimeoutMs);
    channel.onmessage = ({ data }) => {
      if (data?.taken !== id || data.page === pageId) return;
      clearTimeout(timer);
      resolve(true);
    };
    if (!post(channel, { asks: id, pageId })) resolve(false);
  });
}

/** Returns false if the message could not be posted. */
function post(channel: BroadcastChannel, data: unknown): boolean {
  try {
    channel.postMessage(data);
    return true;
  } catch {
    return false;
  }
}

/** Answers other pages that ask for this id. */
function answerClaims(channel: BroadcastChannel | null, id: number): void {
  if (channel === null) return;
  channel.onmessage = ({ data }) => {
    if (data?.asks === id && data.page !== pageId) post(channel, { taken: id, pageId });
  };
}

/** Removes the connection numbers of a console whose id is not used any more. */
function forgetConnections(id: number): void {
  if (id <= 0) return;
  for (const key of tabKeys()) {
    if (key.startsWith(indexKey(""))) removeTab(key);
  }
}

/** The number that the server gave a console at /run. */
export interface ConnectionNumber {
  /** 0: none was given. */
  index: number;
  /** The trace of the session that gave it; "": unknown. */
  trace: string;
}

/** Returns the number that this console was given last in a session. */
export function loadConnectionNumber(session: string): ConnectionNumber {
  const saved = readTab(indexKey(session)) ?? "";
  const space = saved.indexOf(" ");
  const index = Number(saved.slice(0, Math.max(space, 0)));
  return { index: Number.isSafeInteger(index) && index > 0 ? index : 0, trace: saved.slice(space + 1) };
}

export function saveConnectionNumber(session: string, { index, trace }: ConnectionNumber): void {
  writeTab(indexKey(session), `${index} ${trace}`);
}
