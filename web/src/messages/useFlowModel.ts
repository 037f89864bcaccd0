import { useEffect, useEffectEvent, useState, useSyncExternalStore } from "react";
import { ApiError } from "../api/client";
import { useReportTokenNeeded } from "../api/TokenGate";
import type { Filters } from "./filters";
import { FlowModel, type FlowView } from "./flowModel";

/** Creates the model of a trace's rows; null on the first render. base is the trace's path in the API. */
export function useFlowModel(base: string, first: Filters): FlowModel | null {
  const [model, setModel] = useState<FlowModel | null>(null);
  const filters = useEffectEvent(() => first);
  useEffect(() => {
    const made = new FlowModel(base, filters());
    setModel(made);
    made.setVisibleRows(0, 0);
    return () => made.dispose();
  }, [base]);
  return model;
}

export function useFlowView(model: FlowModel): FlowView {
  const view = useSyncExternalStore(model.subscribe, model.get);
  const refused = useReportTokenNeeded();
  const unauthorized = view.problem instanceof ApiError && view.problem.status === 401;
  useEffect(() => {
    if (unauthorized) refused();
  }, [unauthorized, refused]);
  return view;
}
