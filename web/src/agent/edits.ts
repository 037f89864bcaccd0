import type { EditConflict } from "../commands/conflicts";
import type { Store } from "../store/store";
import { RequestError } from "./requests";

/** How many milliseconds typing must pause before an edit is sent. */
const typingPauseMs = 400;
/**
 * An edit is sent after this many milliseconds even if typing does not pause, so that other
 * consoles see it and conflicts show early.
 */
const maxUnsentMs = 2000;

/** The text that the user has typed into a cell and that the server has not confirmed yet. */
interface CellEdit {
  text: string;
  /** The version of the cell that the text is based on. */
  base: { source: string; rev: number };
  /** Texts that were sent and are not known to have arrived. */
  unconfirmed: readonly string[];
  isSending: boolean;
  /** Somebody else has changed the cell since `base`. */
  isConflict: boolean;
  /** The server has refused the text. */
  isRefused: boolean;
  /** The text was typed before the page was reloaded: no editor shows it. */
  isRestored: boolean;
  /** Why the text could not be stored, as the end of a sentence. */
  problem: string;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** When to send the text though typing goes on, as of performance.now(); null: nothing is unsent. */
  sendBy: number | null;
}

export interface EditsConfig {
  store: Store;
  /** Sends an edit_cell. Rejects with the server's refusal, or without an answer. */
  sendEdit(cellId: string, source: string, rev: number): Promise<unknown>;
  /** The conflicts have changed. */
  onConflicts(): void;
  /** A text cannot be stored. why is a text for the user. */
  onRefused(cellId: string, text: string, why: string): void;
  /** Shows a text that no editor has, before the server sends it. */
  showText(cellId: string, text: string): void;
  /** A text may not have arrived at the server, and stays unsent. */
  onUnsent(): void;
}

/**
 * Sends the user's edits to the server: when typing pauses, one at a time per cell, with the
 * revision that they are based on. Keeps edits that cannot be sent. If the cell has another
 * revision by then, nothing is overwritten and the user resolves the conflict.
 */
export class UnsentEdits {
  private readonly edits = new Map<string, CellEdit>();
  private readonly paused = new Map<string, number>();
  private readonly sends = new WeakMap<CellEdit, Promise<boolean>>();

  constructor(private readonly config: EditsConfig) {}

  /** Sets the text of a cell on the screen. */
  setText(id: string, text: string): void {
    const edit = this.edits.get(id) ?? this.begin(id);
    if (edit === null) return;
    edit.text = text;
    edit.isRefused = false;
    edit.isRestored = false;
    this.scheduleSend(id, edit);
  }

  /** Stops sending the edits of a cell when typing pauses, until the returned function is called. */
  pauseSending(id: string): () => void {
    this.paused.set(id, (this.paused.get(id) ?? 0) + 1);
    return () => {
      const left = (this.paused.get(id) ?? 1) - 1;
      if (left > 0) this.paused.set(id, left);
      else this.paused.delete(id);
      const edit = this.edits.get(id);
      if (edit !== undefined && !edit.isSending && edit.text === edit.base.source) this.discard(id);
    };
  }

  /** Returns what was typed into a cell and is not stored; null if nothing is. */
  unsentText(id: string): string | null {
    return this.edits.get(id)?.text ?? null;
  }

  /**
   * Stores what was typed into a cell until now. Later text is not sent before `until` is fulfilled
   * too. Resolves to the stored text, null if nothing was typed; rejects if it could not be stored.
   */
  async flush(id: string, until?: Promise<void>): Promise<string | null> {
    const resumeSending = this.pauseSending(id);
    try {
      const edit = this.edits.get(id);
      const text = edit?.text ?? null;
      if (edit !== undefined && text !== null) await this.storeText(id, edit, text);
      await until;
      return text;
    } finally {
      resumeSending();
    }
  }

  /** Stores everything that was typed until now. Rejects if some of it could not be stored. */
  async flushAll(): Promise<void> {
    await Promise.all([...this.edits.keys()].map((id) => this.flush(id)));
  }

  /** Stores a text after those that are being sent. */
  private async storeText(id: string, edit: CellEdit, text: string): Promise<void> {
    clearTimeout(edit.timer);
    let stored = true;
    while (stored && edit.isSending) stored = await this.sendInProgress(edit);
    stored &&= this.edits.get(id) !== edit || (await this.send(id, edit, text));
    if (!stored) throw new Error(edit.problem);
  }

  /**
   * Called when the notebook is known again: shows text that was typed before a reload and sends
   * all that is not stored.
   */
  resume(): void {
    for (const [id, edit] of this.edits) {
      const cell = this.config.store.get().notebook.cells[id];
      if (edit.isRestored && !edit.isConflict && cell !== undefined) this.compareWithCell(id, edit, cell);
    }
    this.sendAll();
  }

  /** Sends all text that is not stored: there is a connection again, or the user leaves the page. */
  sendAll(): void {
    for (const [id, edit] of this.edits) {
      edit.isRefused = false;
      if (!edit.isConflict) void this.send(id, edit);
    }
  }

  /** Discards what was typed into a cell. */
  discard(id: string): void {
    const edit = this.edits.get(id);
    if (edit === undefined) return;
    clearTimeout(edit.timer);
    this.edits.delete(id);
    if (edit.isConflict) this.config.onConflicts();
  }

  /** Reports whether the user has to choose between two texts of a cell. */
  isInConflict(id: string): boolean {
    return this.edits.get(id)?.isConflict === true;
  }

  /** Returns the conflicts by cell id. */
  conflicts(): Record<string, EditConflict> {
    const out: [string, EditConflict][] = [];
    for (const [id, edit] of this.edits) {
      if (!edit.isConflict) continue;
      const keepMine = () => this.overwrite(id);
      out.push([id, { mine: edit.text, theirs: edit.base.source, keepMine, takeTheirs: () => this.discard(id) }]);
    }
    return Object.fromEntries(out);
  }

  /** Updates conflicts after the cells have changed. */
  updateConflicts(): void {
    for (const [id, edit] of this.edits) {
      const cell = this.config.store.get().notebook.cells[id];
      if (!edit.isConflict) continue;
      if (cell === undefined) queueMicrotask(() => this.cellDeleted(id, edit)); // a component that shows the cell may offer the text first
      if (cell === undefined || cell.rev <= edit.base.rev) continue;
      const base = { source: cell.source, rev: cell.rev };
      edit.isConflict = cell.source !== edit.text;
      if (edit.isConflict) edit.base = base;
      else this.setBase(id, edit, base);
      this.config.onConflicts();
    }
  }

  /**
   * Called when a cell has a new source. It may be one of ours whose answer did not come in time;
   * what was typed since is then sent.
   */
  cellEdited(id: string, source: string, rev: number): void {
    const edit = this.edits.get(id);
    if (edit === undefined || edit.isSending || edit.isConflict || rev <= edit.base.rev) return;
    if (edit.unconfirmed.includes(source)) this.setBase(id, edit, { source, rev });
  }

  /** Returns all unsent edits, to be saved while the page is reloaded. */
  save(): SavedEdit[] {
    return [...this.edits].map(([id, { text, base, isConflict, unconfirmed }]) => ({
      id,
      text,
      base,
      conflict: isConflict,
      sent: unconfirmed,
    }));
  }

  /** Restores edits that were saved. */
  load(saved: readonly SavedEdit[]): void {
    for (const { id, text, base, conflict = false, sent = [] } of saved) {
      const edit: CellEdit = {
        ...newCellEditFields,
        text,
        base,
        isConflict: conflict,
        unconfirmed: sent,
        isRestored: true,
      };
      if (!this.edits.has(id)) this.edits.set(id, edit);
    }
    if (saved.length > 0) this.config.onConflicts();
  }

  /**
   * Compares an edit with what became of its cell while the page was reloaded. Shows the edit
   * unless there is a conflict.
   */
  private compareWithCell(id: string, edit: CellEdit, { source, rev }: CellEdit["base"]): void {
    if (source === edit.text || edit.unconfirmed.includes(source)) this.setBase(id, edit, { source, rev });
    else if (source !== edit.base.source) this.handleStale(id, edit, { source, rev });
    else edit.base = { source, rev };
    if (this.edits.get(id) === edit && !edit.isConflict) this.config.showText(id, edit.text);
  }

  /** Offers the text of a conflict whose cell was deleted. */
  private cellDeleted(id: string, edit: CellEdit): void {
    const { seq, order, cells } = this.config.store.get().notebook;
    if (this.edits.get(id) !== edit || cells[id] !== undefined) return;
    if (this.paused.has(id) || (seq === 0 && order.length === 0)) return; // deleted by this page, or the notebook is not known yet
    this.discard(id);
    this.config.onRefused(id, edit.text, edit.problem);
  }

  /** Sends an edit when typing pauses. */
  private scheduleSend(id: string, edit: CellEdit): void {
    clearTimeout(edit.timer);
    edit.sendBy ??= performance.now() + maxUnsentMs;
    const wait = Math.min(typingPauseMs, Math.max(0, edit.sendBy - performance.now()));
    edit.timer = setTimeout(() => {
      edit.sendBy = null;
      if (this.paused.has(id)) this.scheduleSend(id, edit);
      else if (this.edits.get(id) === edit) void this.send(id, edit);
    }, wait);
  }

  private begin(id: string): CellEdit | null {
    const cell = this.config.store.get().notebook.cells[id];
    if (cell === undefined) return null;
    const edit: CellEdit = { ...newCellEditFields, text: cell.source, base: { source: cell.source, rev: cell.rev } };
    this.edits.set(id, edit);
    return edit;
  }

  /**
   * Sends the text of an edit, by default its newest one. Resolves to whether it was stored. If a
   * send is in progress, returns that one.
   */
  private async send(id: string, edit: CellEdit, text = edit.text): Promise<boolean> {
    if (edit.isSending) return this.sendInProgress(edit);
    if (edit.isConflict || edit.isRefused) return false;
    if (text === edit.base.source && edit.unconfirmed.length === 0) {
      if (edit.text === text) this.edits.delete(id);
      return true;
    }
    edit.unconfirmed = [...edit.unconfirmed, text];
    edit.isSending = true;
    const sending = this.config.sendEdit(id, text, edit.base.rev).then(
      () => this.handleStored(id, edit, text),
      (error) => this.handleFailure(id, edit, error, text),
    );
    this.sends.set(edit, sending);
    return sending;
  }

  private sendInProgress(edit: CellEdit): Promise<boolean> {
    return this.sends.get(edit) ?? Promise.resolve(false);
  }

  private handleStored(id: string, edit: CellEdit, text: string): boolean {
    const { base } = edit;
    return this.setBase(id, edit, { source: text, rev: text === base.source ? base.rev : base.rev + 1 });
  }

  /** Sets the version that the server has. What was typed meanwhile is sent next. */
  private setBase(id: string, edit: CellEdit, base: CellEdit["base"]): boolean {
    edit.isSending = false;
    edit.unconfirmed = [];
    edit.base = base;
    if (this.edits.get(id) !== edit) return true;
    clearTimeout(edit.timer);
    if (edit.text !== base.source) this.scheduleSend(id, edit);
    else if (!this.paused.has(id)) this.edits.delete(id);
    return true;
  }

  private handleFailure(id: string, edit: CellEdit, error: unknown, text: string): boolean | Promise<boolean> {
    edit.isSending = false;
    edit.problem = error instanceof Error ? error.message : String(error);
    if (this.edits.get(id) !== edit) return false;
    if (!(error instanceof RequestError)) {
      this.config.onUnsent();
      return false;
    }
    const { answer } = error;
    if (answer.source !== undefined) {
      const base = { source: answer.source, rev: answer.rev ?? 0 };
      return base.source === edit.base.source ? this.resend(id, edit, base, text) : this.handleStale(id, edit, base);
    }
    edit.isRefused = true;
    const gone = this.config.store.get().notebook.cells[id] === undefined;
    if (gone) this.edits.delete(id);
    this.config.onRefused(id, edit.text, answer.error || error.message);
    return false;
  }

  /** Sends a text again: the rev is another one, but the source is the one that the text is based on. */
  private resend(id: string, edit: CellEdit, base: CellEdit["base"], text: string): Promise<boolean> {
    edit.unconfirmed = [];
    edit.base = base;
    return this.send(id, edit, text);
  }

  /**
   * Starts a conflict, unless the cell's new source is a text of ours that was sent before the
   * connection broke, or the same text.
   */
  private handleStale(id: string, edit: CellEdit, base: CellEdit["base"]): boolean {
    if (edit.unconfirmed.includes(base.source) || base.source === edit.text) return this.setBase(id, edit, base);
    edit.unconfirmed = [];
    edit.base = base;
    edit.isConflict = true;
    edit.problem = "somebody else has changed it meanwhile";
    this.config.onConflicts();
    return false;
  }

  private overwrite(id: string): void {
    const edit = this.edits.get(id);
    if (edit === undefined) return;
    edit.isConflict = false;
    this.config.onConflicts();
    void this.send(id, edit);
  }
}

/** An edit as it is saved in the browser while the page is reloaded. */
export interface SavedEdit {
  id: string;
  text: string;
  base: { source: string; rev: number };
  conflict?: boolean;
  sent?: readonly string[];
}

const newCellEditFields = {
  unconfirmed: [] as readonly string[],
  isSending: false,
  sendBy: null,
  isConflict: false,
  isRefused: false,
  isRestored: false,
  problem: "",
  timer: undefined,
};
