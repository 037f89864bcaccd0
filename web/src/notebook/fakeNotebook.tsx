// A notebook for tests: a store filled by the test, and commands that change it as a server would.

import { act, render } from "@testing-library/react";
import { vi } from "vitest";
import { type Commands, CommandsProvider } from "../commands/commands";
import { type Conflicts, ConflictsProvider } from "../commands/conflicts";
import { createNavigation, NavigationProvider, type NotebookNavigation } from "../commands/navigation";
import type { CellType } from "../protocol/messages";
import { initialState } from "../store/reducer";
import type { Cell, Execution, Notebook as NotebookState, State } from "../store/state";
import { createStore, type Store, StoreProvider } from "../store/store";
import { Notebook } from "./Notebook";

/** Returns a code cell with this id and source; other fields can be overridden. */
export function fakeCell(id: string, source = `# ${id}`, more: Partial<Cell> = {}): Cell {
  return { id, type: "code", source, title: "", rev: 1, ...more };
}

export function fakeExecution(more: Partial<Execution> = {}): Execution {
  return { status: "ran", pending: false, started: false, sequencer: 1, count: 1, outputs: [], widgets: {}, ...more };
}

export function stateOfCells(cells: readonly Cell[], more: Partial<NotebookState> = {}): State {
  const byId = Object.fromEntries(cells.map((each) => [each.id, each]));
  const notebook = { ...initialState.notebook, seq: 1, order: cells.map(({ id }) => id), cells: byId, ...more };
  return { ...initialState, notebook };
}

export function changeNotebookInStore(store: Store, change: (now: NotebookState) => Partial<NotebookState>): void {
  store.update((state) => ({ ...state, notebook: { ...state.notebook, ...change(state.notebook) } }));
}

/** Changes a cell's source in the store, as if the server had sent it. */
export function setSourceInStore(store: Store, id: string, source: string): void {
  changeNotebookInStore(store, ({ cells }) => ({
    cells: { ...cells, [id]: { ...(cells[id] ?? fakeCell(id)), source } },
  }));
}

export function removeCellFromStore(store: Store, id: string): void {
  changeNotebookInStore(store, ({ order, cells }) => {
    const { [id]: _gone, ...rest } = cells;
    return { order: order.filter((each) => each !== id), cells: rest };
  });
}

export function insertCellIntoStore(store: Store, position: number, fresh: Cell): void {
  changeNotebookInStore(store, ({ order, cells }) => ({
    order: [...order.slice(0, position), fresh.id, ...order.slice(position)],
    cells: { ...cells, [fresh.id]: fresh },
  }));
}

export function moveCellInStore(store: Store, id: string, position: number): void {
  changeNotebookInStore(store, ({ order }) => {
    const rest = order.filter((each) => each !== id);
    return { order: [...rest.slice(0, position), id, ...rest.slice(position)] };
  });
}

/**
 * Returns commands that change the store at once. Commands that run or stop cells, send edits, or
 * talk to the agent are only recorded.
 */
export function fakeCommands(store: Store) {
  let made = 0;
  return {
    canRun: true as boolean,
    createCell: vi.fn(async (position: number, type: CellType, source: string, title: string = "") => {
      const id = `new${++made}`;
      insertCellIntoStore(store, position, fakeCell(id, source, { type, title }));
      return id;
    }),
    editCell: vi.fn(),
    deleteCell: vi.fn(async (id: string) => removeCellFromStore(store, id)),
    moveCell: vi.fn(async (id: string, position: number) => moveCellInStore(store, id, position)),
    changeType: vi.fn(async (id: string, type: CellType) => {
      const { order, cells } = store.get().notebook;
      const [at, old] = [order.indexOf(id), cells[id] ?? fakeCell(id)];
      const fresh = `${id}-${type}`;
      removeCellFromStore(store, id);
      insertCellIntoStore(store, at, { ...old, id: fresh, type });
      return fresh;
    }),
    runCell: vi.fn(),
    stopCell: vi.fn(),
    setWidget: vi.fn(async () => {}),
    restart: vi.fn(),
    globals: vi.fn(async () => ({ summary: {} })),
    reactivity: vi.fn(async () => ({ summary: "", cell_reactivity: {} })),
    query: vi.fn(),
    cancel: vi.fn(),
    clearHistory: vi.fn(),
    startAttempt: vi.fn(),
    submitAnswer: vi.fn(async () => undefined),
  } satisfies Commands;
}

/**
 * Replaces layout, which happy-dom lacks: the view is 800 pixels high and each cell 100. Also
 * suppresses selectionchange events, because happy-dom fires them in the middle of a change, which
 * no browser does.
 */
export function fakeNotebookLayout(): void {
  document.addEventListener("selectionchange", (event) => event.stopImmediatePropagation(), true);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(800);
  vi.spyOn(HTMLElement.prototype, "getBoundingClientRect").mockReturnValue(new DOMRect(0, 0, 600, 100));
}

export interface RenderedNotebook {
  store: Store;
  commands: ReturnType<typeof fakeCommands>;
  navigation: NotebookNavigation;
}

interface RenderNotebookOptions {
  readOnly?: boolean;
  canRun?: boolean;
  addProblem?: string;
  conflicts?: Conflicts;
}

/** Renders a notebook with a store and fake commands; returns them. */
export async function renderNotebook(
  state: State,
  { readOnly = false, canRun = true, addProblem, conflicts = {} }: RenderNotebookOptions = {},
): Promise<RenderedNotebook> {
  fakeNotebookLayout();
  const store = createStore(state);
  const commands = {
    ...fakeCommands(store),
    canRun,
    runProblem: canRun ? null : "Another console owns this session.",
    addProblem: addProblem ?? null,
  };
  const navigation = createNavigation();
  await act(async () => {
    render(
      <StoreProvider value={store}>
        <NavigationProvider value={navigation}>
          <CommandsProvider value={readOnly ? null : commands}>
            <ConflictsProvider value={conflicts}>
              <Notebook language="python" />
            </ConflictsProvider>
          </CommandsProvider>
        </NavigationProvider>
      </StoreProvider>,
    );
  });
  return { store, commands, navigation };
}
