import type { TraceSource } from "../api/client";
import { type Filters, initialFilters } from "./filters";
import { MessagesBoard } from "./MessagesBoard";
import { useFlowModel } from "./useFlowModel";

interface Props {
  source: TraceSource;
  /** Filters at first. A new value replaces them. */
  focus?: { tx?: string; cell?: string };
  /** Called when a live trace has ended. */
  onEnd?: () => void;
  /** A new number means that a new trace may have replaced one that has ended. */
  renew?: number;
}

/** Shows the messages between console, agent, server and kernel in a session or an attempt. */
export default function MessagesView({ source, focus, onEnd, renew }: Props) {
  const filters: Filters = { ...initialFilters, tx: focus?.tx ?? "", cell: focus?.cell ?? "" };
  const model = useFlowModel(source.base, filters);
  if (model === null) return null;
  return <MessagesBoard key={source.base} model={model} watch={source.watch} live={{ onEnd, renew }} />;
}
