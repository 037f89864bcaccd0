import { type Fields, isObject } from "../json/read";
import type { WireCell } from "../protocol/messages";
import type { Core } from "./core";
import { keepAside, keptAside } from "./documentStore";

export interface AsideConfig {
  core: Core;
  console: number;
  session: string;
  /** Makes a cell, by the parameters of create_cell. */
  make(params: Fields): Promise<unknown>;
}

/**
 * The notebook of an attempt that is over, when another has begun with an empty one.
 * It is offered until it has been brought back or the offer was dismissed, also when
 * the page is loaded again.
 */
export class Aside {
  constructor(private readonly config: AsideConfig) {}

  put(cells: readonly WireCell[]): void {
    if (cells.length === 0) return;
    this.keep(cells);
    this.offer(cells);
  }

  /** Offers what was kept before the page was loaded. */
  async load(): Promise<void> {
    const { console, session } = this.config;
    const kept = await keptAside(console, session);
    const cells = Array.isArray(kept) ? kept.filter(isObject) : [];
    if (cells.length > 0) this.offer(cells);
  }

  private offer(cells: readonly Partial<WireCell>[]): void {
    const text = "Another attempt has begun, with an empty notebook. The one before is not lost.";
    const action = { label: "Bring its cells back", run: () => void this.bringBack(cells) };
    this.config.core.notices.add("info", text, action, () => this.keep([]));
  }

  private async bringBack(cells: readonly Partial<WireCell>[]): Promise<void> {
    const { core, make } = this.config;
    try {
      for (const { cell_type, source, display_name: title } of cells) {
        await make({ position: core.store.get().notebook.order.length, cell_type, source, title });
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      core.notices.add("error", `Not all of its cells could be brought back: ${why}`);
    }
  }

  private keep(cells: readonly WireCell[]): void {
    const { core, console, session } = this.config;
    keepAside(console, session, cells).catch(() => {
      core.notices.add("error", "There is no room to keep the notebook before: it is lost when the page is closed.");
    });
  }
}
