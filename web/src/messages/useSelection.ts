import { useState } from "react";
import type { FlowEntry, FlowRequest } from "./entry";
import type { FlowModel, FlowView } from "./flowModel";

/** The selected row, and its entry at the time of the selection. */
export interface RowSelection {
  row: number;
  /** Number of times the row was set; 0: it is only the initial row. */
  moves: number;
  /** null: none is selected, or it is not loaded. */
  entry: FlowEntry | null;
  /** Requests of the entry; the last known ones if they are not loaded any more. */
  requests: readonly FlowRequest[];
  move: (row: number) => void;
  reset: () => void;
}

interface SelectedRowState {
  row: number;
  moves: number;
  entry: FlowEntry | null;
  requests: readonly FlowRequest[];
}

const firstRowSelected: SelectedRowState = { row: 0, moves: 0, entry: null, requests: [] };

export function useSelection(model: FlowModel, view: FlowView): RowSelection {
  const [state, setState] = useState(firstRowSelected);
  const { row, moves, entry } = state;
  const there = view.count === null ? null : model.entryAt(row);
  const shown = entry ?? (moves > 0 ? there : null);
  const current =
    shown !== null && there?.seq === shown.seq
      ? shown.requests.flatMap((first) => model.requestAt(row, first) ?? [])
      : [];
  const requests = current.length > 0 ? current : state.requests;
  if (shown !== entry || !haveSameItems(requests, state.requests)) setState({ ...state, entry: shown, requests });
  return {
    row,
    moves,
    entry: shown,
    requests,
    move: (to) => setState((before) => ({ row: to, moves: before.moves + 1, entry: model.entryAt(to), requests: [] })),
    reset: () => setState(firstRowSelected),
  };
}

function haveSameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
