import { list, read } from "../json/schema";
import type { Fields } from "../json/values";
import { type WireCell, wireCellSchema } from "../protocol/wire.gen";
import { loadPreviousNotebook, savePreviousNotebook } from "./notebookStorage";
import type { SessionServices } from "./sessionServices";

export interface PreviousNotebookConfig {
  services: SessionServices;
  consoleId: number;
  session: string;
  /** Creates a cell. params are those of create_cell. */
  createCell(params: Fields): Promise<unknown>;
}

/**
 * The notebook of a finished attempt, kept after another attempt has begun with an empty notebook.
 * A notice offers its cells until the user restores them or dismisses it, also after a reload of
 * the page.
 */
export class PreviousNotebook {
  constructor(private readonly config: PreviousNotebookConfig) {}

  /** Saves the cells and offers to restore them. */
  saveAndOffer(cells: readonly WireCell[]): void {
    if (cells.length === 0) return;
    this.save(cells);
    this.offer(cells);
  }

  /** Offers cells that were saved before the page was reloaded. */
  async load(): Promise<void> {
    const { consoleId, session } = this.config;
    const saved = await loadPreviousNotebook(consoleId, session);
    const cells = read(list(wireCellSchema), saved);
    if (cells.length > 0) this.offer(cells);
  }

  private offer(cells: readonly WireCell[]): void {
    const text = "Another attempt has begun with an empty notebook. The previous notebook is saved.";
    const action = { label: "Restore its cells", run: () => void this.restoreCells(cells) };
    this.config.services.notices.add("info", text, action, () => this.save([]));
  }

  private async restoreCells(cells: readonly WireCell[]): Promise<void> {
    const { services, createCell } = this.config;
    try {
      for (const { cell_type, source, display_name: title } of cells) {
        await createCell({ position: services.store.get().notebook.order.length, cell_type, source, title });
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      services.notices.add("error", `Not all cells could be restored: ${why}`);
    }
  }

  private save(cells: readonly WireCell[]): void {
    const { services, consoleId, session } = this.config;
    savePreviousNotebook(consoleId, session, cells).catch(() => {
      services.notices.add(
        "error",
        "There is no room to save the previous notebook: it is lost when the page is closed.",
      );
    });
  }
}
