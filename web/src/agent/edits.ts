import type { Conflict } from "../notebook/conflicts";
import { numberOf, textOf } from "../store/read";
import type { Store } from "../store/store";
import { RequestError } from "./requests";

/** How long typing must pause for an edit to be sent, in milliseconds. */
const pause = 400;

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
  /** Why it could not be stored, in words that end a sentence. */
  problem: string;
  timer: ReturnType<typeof setTimeout> | undefined;
}

export interface EditsConfig {
  store: Store;
  /** Asks the server for an edit_cell; rejected with its refusal, or without an answer. */
  ask(cellId: string, source: string, rev: number): Promise<unknown>;
  /** Conflicts have come or gone. */
  changed(): void;
  /** Tells of an edit that cannot be stored: its text, and why. */
  refused(cellId: string, text: string, why: string): void;
}

/**
 * What a person types, on its way to the server: sent when typing pauses, one edit
 * of a cell at a time, with the rev that it was typed over. What cannot be sent is
 * kept. If the cell has another rev by then, nothing is overwritten: there is a
 * conflict, which the person settles.
 */
export class Edits {
  private readonly edits = new Map<string, Edit>();
  private readonly ways = new WeakMap<Edit, Promise<boolean>>();

  constructor(private readonly config: EditsConfig) {}

  /** Takes in what a cell's source is now on the screen. */
  typed(id: string, text: string): void {
    const edit = this.edits.get(id) ?? this.begin(id);
    if (edit === null) return;
    edit.text = text;
    edit.refused = false;
    clearTimeout(edit.timer);
    edit.timer = setTimeout(() => void this.send(id, edit), pause);
  }

  /** What was typed into a cell and is not stored; null: nothing is. */
  text(id: string): string | null {
    return this.edits.get(id)?.text ?? null;
  }

  /**
   * Sends what was typed into a cell. Resolves to the text that was stored last, null:
   * there was none; it is rejected when something could not be stored.
   */
  async flush(id: string): Promise<string | null> {
    let last: string | null = null;
    for (let edit = this.edits.get(id); edit !== undefined; edit = this.edits.get(id)) {
      clearTimeout(edit.timer);
      last = edit.text;
      if (!(await this.send(id, edit))) throw new Error(edit.problem);
    }
    return last;
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
      if (!edit.conflict || cell === undefined || cell.rev <= edit.base.rev) continue;
      const base = { source: cell.source, rev: cell.rev };
      edit.conflict = cell.source !== edit.text;
      if (edit.conflict) edit.base = base;
      else this.settled(id, edit, base);
      this.config.changed();
    }
  }

  /** What is not stored, to be kept while the page is reloaded. */
  save(): SavedEdit[] {
    return [...this.edits].map(([id, { text, base }]) => ({ id, text, base }));
  }

  /** Takes back what was saved. */
  load(saved: readonly SavedEdit[]): void {
    for (const { id, text, base } of saved) {
      if (!this.edits.has(id)) this.edits.set(id, { ...fresh, text, base });
    }
  }

  private begin(id: string): Edit | null {
    const cell = this.config.store.get().notebook.cells[id];
    if (cell === undefined) return null;
    const edit = { ...fresh, text: cell.source, base: { source: cell.source, rev: cell.rev } };
    this.edits.set(id, edit);
    return edit;
  }

  /** Sends one edit, unless one is under way; resolves to whether it was stored. */
  private async send(id: string, edit: Edit): Promise<boolean> {
    if (edit.sending) return this.underWay(edit);
    if (edit.conflict || edit.refused) return false;
    if (edit.text === edit.base.source && edit.sent.length === 0) {
      this.edits.delete(id);
      return true;
    }
    const { text } = edit;
    edit.sent = [...edit.sent, text];
    edit.sending = true;
    const sending = this.config.ask(id, text, edit.base.rev).then(
      () => this.stored(id, edit, text),
      (error) => this.failed(id, edit, error),
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
    if (edit.text === base.source) this.edits.delete(id);
    else edit.timer = setTimeout(() => void this.send(id, edit), pause);
    return true;
  }

  private failed(id: string, edit: Edit, error: unknown): boolean {
    edit.sending = false;
    edit.problem = error instanceof Error ? error.message : String(error);
    if (this.edits.get(id) !== edit || !(error instanceof RequestError)) return false; // kept until there is a connection
    const { answer } = error;
    if (typeof answer.source === "string") return this.stale(id, edit, answer.source, numberOf(answer.rev));
    edit.refused = true;
    const gone = this.config.store.get().notebook.cells[id] === undefined;
    if (gone) this.edits.delete(id);
    this.config.refused(id, edit.text, textOf(answer.error) || error.message);
    return false;
  }

  /** The cell has another rev. It may be that of what was sent before a connection broke, or the same text. */
  private stale(id: string, edit: Edit, source: string, rev: number): boolean {
    if (edit.sent.includes(source) || source === edit.text) return this.settled(id, edit, { source, rev });
    edit.sent = [];
    edit.base = { source, rev };
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
}

const fresh = { sent: [], sending: false, conflict: false, refused: false, problem: "", timer: undefined };
