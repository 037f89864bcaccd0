import type { Core } from "./core";
import type { Edits } from "./edits";
import { loadEdits, saveEdits } from "./savedEdits";
import { loadWords, saveWords } from "./savedWords";

/** What has not come to the server, and is kept while the page is loaded again. */
export class Leftovers {
  /** What is kept is here too, and may be kept anew. */
  private loaded = false;

  constructor(
    private readonly session: string,
    private readonly core: Core,
    private readonly edits: Edits,
  ) {}

  load(): void {
    this.loaded = true;
    this.edits.load(loadEdits(this.session));
    this.core.words.load(loadWords(this.session));
  }

  /** The page is left. */
  keep(): void {
    if (!this.loaded) return;
    saveEdits(this.session, this.edits.save());
    saveWords(this.session, this.core.words.save());
  }

  /** A text could not be sent: when it cannot be kept either, that is told before it is lost. */
  keepEdits(): void {
    if (saveEdits(this.session, this.edits.save())) return;
    const text =
      "There is no room to keep what you typed: do not close or reload this page before the connection is back.";
    this.core.notices.add("error", text);
  }

  /** All that was typed is on its way; what fails to come is kept again. */
  sent(): void {
    saveEdits(this.session, []);
  }
}
