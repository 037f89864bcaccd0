import { useState } from "react";
import type { FlowEntry, FlowRequest } from "./entry";
import type { FlowModel, FlowView } from "./model";

/** The row where one is, and the entry that was there when one came. */
export interface Selection {
  row: number;
  /** How often one has gone to a row; 0: one has not, and the row is only the first. */
  moves: number;
  /** null: none is selected, or it is not here yet. */
  entry: FlowEntry | null;
  /** Those that it is part of, as they are now, or as they were last. */
  requests: readonly FlowRequest[];
  move: (row: number) => void;
  reset: () => void;
}

interface State {
  row: number;
  moves: number;
  entry: FlowEntry | null;
  requests: readonly FlowRequest[];
}

const start: State = { row: 0, moves: 0, entry: null, requests: [] };

export function useSelection(model: FlowModel, view: FlowView): Selection {
  const [state, setState] = useState(start);
  const { row, moves, entry } = state;
  const there = view.count === null ? null : model.entryAt(row);
  const shown = entry ?? (moves > 0 ? there : null);
  const current =
    shown !== null && there?.seq === shown.seq
      ? shown.requests.flatMap((first) => model.requestAt(row, first) ?? [])
      : [];
  const requests = current.length > 0 ? current : state.requests;
  if (shown !== entry || !sameItems(requests, state.requests)) setState({ ...state, entry: shown, requests });
  return {
    row,
    moves,
    entry: shown,
    requests,
    move: (to) => setState((before) => ({ row: to, moves: before.moves + 1, entry: model.entryAt(to), requests: [] })),
    reset: () => setState(start),
  };
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
