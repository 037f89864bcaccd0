import type { Conflict } from "../commands/conflicts";
import { numberOrZero, textOf } from "../json/read";
import type { Store } from "../store/store";
import { RequestError } from "./requests";

/** How long typing must pause for an edit to be sent, in milliseconds. */
const pause = 400;
/** After so many milliseconds it is sent though typing goes on: others see it, and a conflict shows before much is typed. */
const longest = 2000;

/** What a person has typed into a cell, as long as the server does not have it. */
interface Edit {
  text: string;
  /** What it was typed over: the source of that rev. */
  base: { source: string; rev: number };
  /** The texts that were sent since, and are not known to have come. */
  sent: readonly string[];
  sending: boolean;
  /** Somebody else has changed the cell since base. */
  conflict: boolean;
  /** The server will not have it as it is. */
  refused: boolean;
  /** It was typed before the page was loaded again: no editor has it. */
  restored: boolean;
  /** Why it could not be stored, in words that end a sentence. */
  problem: string;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** When it is sent though typing goes on, as of performance.now(); null: nothing waits. */
  due: number | null;
}

export interface EditsConfig {
  store: Store;
  /** Asks the server for an edit_cell; rejected with its refusal, or without an answer. */
  ask(cellId: string, source: string, rev: number): Promise<unknown>;
  /** Conflicts have come or gone. */
  changed(): void;
  /** Tells of an edit that cannot be stored: its text, and why. */
  refused(cellId: string, text: string, why: string): void;
  /** Shows a text that no editor has, before it comes back from the server. */
  show(cellId: string, text: string): void;
  /** A text has not come to the server, as far as is known, and is kept. */
  kept(): void;
}

/**
 * What a person types, on its way to the server: sent when typing pauses, one edit
 * of a cell at a time, with the rev that it was typed over. What cannot be sent is
 * kept. If the cell has another rev by then, nothing is overwritten: there is a
 * conflict, which the person settles.
 */
export class Edits {
  private readonly edits = new Map<string, Edit>();
  private readonly held = new Map<string, number>();
  private readonly ways = new WeakMap<Edit, Promise<boolean>>();

  constructor(private readonly config: EditsConfig) {}

  /** Takes in what a cell's source is now on the screen. */
  typed(id: string, text: string): void {
    const edit = this.edits.get(id) ?? this.begin(id);
    if (edit === null) return;
    edit.text = text;
    edit.refused = false;
    edit.restored = false;
    this.later(id, edit);
  }

  /** Keeps what is typed into a cell from being sent when typing pauses, until what it returns is called. */
  hold(id: string): () => void {
    this.held.set(id, (this.held.get(id) ?? 0) + 1);
    return () => {
      const left = (this.held.get(id) ?? 1) - 1;
      if (left > 0) this.held.set(id, left);
      else this.held.delete(id);
      const edit = this.edits.get(id);
      if (edit !== undefined && !edit.sending && edit.text === edit.base.source) this.drop(id);
    };
  }

  /** What was typed into a cell and is not stored; null: nothing is. */
  text(id: string): string | null {
    return this.edits.get(id)?.text ?? null;
  }

  /**
   * Stores what was typed into a cell until now, and nothing that is typed later before
   * `until` is fulfilled too. Resolves to that text, null: nothing was typed; it is
   * rejected when it could not be stored.
   */
  async flush(id: string, until?: Promise<void>): Promise<string | null> {
    const release = this.hold(id);
    try {
      const edit = this.edits.get(id);
      const text = edit?.text ?? null;
      if (edit !== undefined && text !== null) await this.store(id, edit, text);
      await until;
      return text;
    } finally {
      release();
    }
  }

  /** Stores a text behind those that are under way. */
  private async store(id: string, edit: Edit, text: string): Promise<void> {
    clearTimeout(edit.timer);
    let stored = true;
    while (stored && edit.sending) stored = await this.underWay(edit);
    stored &&= this.edits.get(id) !== edit || (await this.send(id, edit, text));
    if (!stored) throw new Error(edit.problem);
  }

  /** The notebook is known again: what was typed before the page was loaded is shown, and all that is not stored is sent. */
  resume(): void {
    for (const [id, edit] of this.edits) {
      const cell = this.config.store.get().notebook.cells[id];
      if (edit.restored && !edit.conflict && cell !== undefined) this.compare(id, edit, cell);
    }
    this.flushAll();
  }

  /** Sends all that was typed and not stored: there is a connection again, or the page goes away. */
  flushAll(): void {
    for (const [id, edit] of this.edits) {
      edit.refused = false;
      if (!edit.conflict) void this.send(id, edit);
    }
  }

  /** Forgets what was typed into a cell. */
  drop(id: string): void {
    const edit = this.edits.get(id);
    if (edit === undefined) return;
    clearTimeout(edit.timer);
    this.edits.delete(id);
    if (edit.conflict) this.config.changed();
  }

  /** Whether theirs and ours of a cell differ, and a person has to choose. */
  inConflict(id: string): boolean {
    return this.edits.get(id)?.conflict === true;
  }

  /** By cell id. */
  conflicts(): Record<string, Conflict> {
    const out: [string, Conflict][] = [];
    for (const [id, edit] of this.edits) {
      if (!edit.conflict) continue;
      const keepMine = () => this.keepMine(id);
      out.push([id, { mine: edit.text, theirs: edit.base.source, keepMine, takeTheirs: () => this.drop(id) }]);
    }
    return Object.fromEntries(out);
  }

  /** Looks at what the cells have become: in a conflict the newest of theirs is shown. */
  follow(): void {
    for (const [id, edit] of this.edits) {
      const cell = this.config.store.get().notebook.cells[id];
      if (!edit.conflict) continue;
      if (cell === undefined) queueMicrotask(() => this.deleted(id, edit)); // who shows the cell may tell of it first
      if (cell === undefined || cell.rev <= edit.base.rev) continue;
      const base = { source: cell.source, rev: cell.rev };
      edit.conflict = cell.source !== edit.text;
      if (edit.conflict) edit.base = base;
      else this.settled(id, edit, base);
      this.config.changed();
    }
  }

  /** A cell has another text: one of ours, perhaps, of which no answer came in time. What was typed since follows. */
  heard(id: string, source: string, rev: number): void {
    const edit = this.edits.get(id);
    if (edit === undefined || edit.sending || edit.conflict || rev <= edit.base.rev) return;
    if (edit.sent.includes(source)) this.settled(id, edit, { source, rev });
  }

  /** What is not stored, to be kept while the page is reloaded. */
  save(): SavedEdit[] {
    return [...this.edits].map(([id, { text, base, conflict, sent }]) => ({ id, text, base, conflict, sent }));
  }

  /** Takes back what was saved. */
  load(saved: readonly SavedEdit[]): void {
    for (const { id, text, base, conflict = false, sent = [] } of saved) {
      const edit = { ...fresh, text, base, conflict: conflict === true, sent, restored: true };
      if (!this.edits.has(id)) this.edits.set(id, edit);
    }
    if (saved.length > 0) this.config.changed();
  }

  /** Looks at what became of a cell while the page was loaded. Ours is shown, unless both have changed. */
  private compare(id: string, edit: Edit, { source, rev }: Edit["base"]): void {
    if (source === edit.text || edit.sent.includes(source)) this.settled(id, edit, { source, rev });
    else if (source !== edit.base.source) this.stale(id, edit, { source, rev });
    else edit.base = { source, rev };
    if (this.edits.get(id) === edit && !edit.conflict) this.config.show(id, edit.text);
  }

  /** Somebody has deleted a cell in conflict: ours is told of, that it is not lost. */
  private deleted(id: string, edit: Edit): void {
    const { seq, order, cells } = this.config.store.get().notebook;
    if (this.edits.get(id) !== edit || cells[id] !== undefined) return;
    if (this.held.has(id) || (seq === 0 && order.length === 0)) return; // the person's own doing, or not known yet
    this.drop(id);
    this.config.refused(id, edit.text, edit.problem);
  }

  /** Sends an edit when typing pauses. */
  private later(id: string, edit: Edit): void {
    clearTimeout(edit.timer);
    edit.due ??= performance.now() + longest;
    const wait = Math.min(pause, Math.max(0, edit.due - performance.now()));
    edit.timer = setTimeout(() => {
      edit.due = null;
      if (this.held.has(id)) this.later(id, edit);
      else if (this.edits.get(id) === edit) void this.send(id, edit);
    }, wait);
  }

  private begin(id: string): Edit | null {
    const cell = this.config.store.get().notebook.cells[id];
    if (cell === undefined) return null;
    const edit = { ...fresh, text: cell.source, base: { source: cell.source, rev: cell.rev } };
    this.edits.set(id, edit);
    return edit;
  }

  /** Sends one edit, or a text that it was, unless one is under way; resolves to whether it was stored. */
  private async send(id: string, edit: Edit, text = edit.text): Promise<boolean> {
    if (edit.sending) return this.underWay(edit);
    if (edit.conflict || edit.refused) return false;
    if (text === edit.base.source && edit.sent.length === 0) {
      if (edit.text === text) this.edits.delete(id);
      return true;
    }
    edit.sent = [...edit.sent, text];
    edit.sending = true;
    const sending = this.config.ask(id, text, edit.base.rev).then(
      () => this.stored(id, edit, text),
      (error) => this.failed(id, edit, error, text),
    );
    this.ways.set(edit, sending);
    return sending;
  }

  private underWay(edit: Edit): Promise<boolean> {
    return this.ways.get(edit) ?? Promise.resolve(false);
  }

  private stored(id: string, edit: Edit, text: string): boolean {
    const { base } = edit;
    return this.settled(id, edit, { source: text, rev: text === base.source ? base.rev : base.rev + 1 });
  }

  /** Notes what the server has; what was typed meanwhile follows. */
  private settled(id: string, edit: Edit, base: Edit["base"]): boolean {
    edit.sending = false;
    edit.sent = [];
    edit.base = base;
    if (this.edits.get(id) !== edit) return true;
    clearTimeout(edit.timer);
    if (edit.text !== base.source) this.later(id, edit);
    else if (!this.held.has(id)) this.edits.delete(id);
    return true;
  }

  private failed(id: string, edit: Edit, error: unknown, text: string): boolean | Promise<boolean> {
    edit.sending = false;
    edit.problem = error instanceof Error ? error.message : String(error);
    if (this.edits.get(id) !== edit) return false;
    if (!(error instanceof RequestError)) {
      this.config.kept();
      return false;
    }
    const { answer } = error;
    if (typeof answer.source === "string") {
      const base = { source: answer.source, rev: numberOrZero(answer.rev) };
      return base.source === edit.base.source ? this.again(id, edit, base, text) : this.stale(id, edit, base);
    }
    edit.refused = true;
    const gone = this.config.store.get().notebook.cells[id] === undefined;
    if (gone) this.edits.delete(id);
    this.config.refused(id, edit.text, textOf(answer.error) || error.message);
    return false;
  }

  /** The cell has another rev, and the text that ours was typed over: nobody is overwritten. */
  private again(id: string, edit: Edit, base: Edit["base"], text: string): Promise<boolean> {
    edit.sent = [];
    edit.base = base;
    return this.send(id, edit, text);
  }

  /** The cell has another rev. It may be that of what was sent before a connection broke, or the same text. */
  private stale(id: string, edit: Edit, base: Edit["base"]): boolean {
    if (edit.sent.includes(base.source) || base.source === edit.text) return this.settled(id, edit, base);
    edit.sent = [];
    edit.base = base;
    edit.conflict = true;
    edit.problem = "somebody else has changed it meanwhile";
    this.config.changed();
    return false;
  }

  private keepMine(id: string): void {
    const edit = this.edits.get(id);
    if (edit === undefined) return;
    edit.conflict = false;
    this.config.changed();
    void this.send(id, edit);
  }
}

export interface SavedEdit {
  id: string;
  text: string;
  base: { source: string; rev: number };
  conflict?: boolean;
  sent?: readonly string[];
}

const fresh = {
  sent: [] as readonly string[],
  sending: false,
  due: null,
  conflict: false,
  refused: false,
  restored: false,
  problem: "",
  timer: undefined,
};
