import type { TraceSource } from "../api/client";
import { FlowBoard } from "./FlowBoard";
import { type Filters, firstFilters } from "./filters";
import { useModel } from "./useModel";

interface Props {
  source: TraceSource;
  /** What is picked at first; another one picks that. */
  focus?: { tx?: string; cell?: string };
  /** A trace that went on has ended. */
  onEnd?: () => void;
  /** Another number when there may be another trace in the place of one that has ended. */
  renew?: number;
}

/** The messages of a session or an attempt, as they went between console, agent, server and kernel. */
export default function Flow({ source, focus, onEnd, renew }: Props) {
  const filters: Filters = { ...firstFilters, tx: focus?.tx ?? "", cell: focus?.cell ?? "" };
  const model = useModel(source.base, filters);
  if (model === null) return null;
  return <FlowBoard key={source.base} model={model} watch={source.watch} live={{ onEnd, renew }} />;
}
