import { useState } from "react";
import type { FlowEntry, FlowRequest } from "./entry";
import type { FlowModel, FlowView } from "./model";

/** The row where one is, and the entry that was there when one came. */
export interface Selection {
  row: number;
  /** null: none is selected, or it is not here yet. */
  entry: FlowEntry | null;
  /** Those that it is part of, as they are now, or as they were last. */
  requests: readonly FlowRequest[];
  move: (row: number) => void;
  reset: () => void;
}

interface State {
  row: number;
  /** One has gone there, and has not only begun there. */
  chosen: boolean;
  entry: FlowEntry | null;
  requests: readonly FlowRequest[];
}

const start: State = { row: 0, chosen: false, entry: null, requests: [] };

export function useSelection(model: FlowModel, view: FlowView): Selection {
  const [state, setState] = useState(start);
  const { row, chosen, entry } = state;
  const there = view.count === null ? null : model.entryAt(row);
  const shown = entry ?? (chosen ? there : null);
  const current =
    shown !== null && there?.seq === shown.seq
      ? shown.requests.flatMap((first) => model.requestAt(row, first) ?? [])
      : [];
  const requests = current.length > 0 ? current : state.requests;
  if (shown !== entry || !sameItems(requests, state.requests)) setState({ ...state, entry: shown, requests });
  return {
    row,
    entry: shown,
    requests,
    move: (to) => setState({ row: to, chosen: true, entry: model.entryAt(to), requests: [] }),
    reset: () => setState(start),
  };
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
