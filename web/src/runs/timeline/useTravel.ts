import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";
import type { TraceSource } from "../../api/client";
import { createStore } from "../../store/store";
import { type Moment, nowhere } from "./moment";
import { Travel } from "./travel";

/** A travel through a trace, with a store of its own; null: not made yet. It does nothing until it is begun. */
export function useNewTravel({ base, watch }: TraceSource): Travel | null {
  const [travel, setTravel] = useState<Travel | null>(null);
  useEffect(() => {
    const made = new Travel({ base, watch }, createStore());
    setTravel(made);
    return () => made.end();
  }, [base, watch]);
  return travel;
}

const TravelContext = createContext<Travel | null>(null);

export const TravelProvider = TravelContext.Provider;

export function useTravel(): Travel {
  const travel = useContext(TravelContext);
  if (travel === null) throw new Error("no TravelProvider above");
  return travel;
}

/** Where a travel is. */
export function useMoment(travel: Travel | null): Moment {
  return useSyncExternalStore(travel?.subscribe ?? neverChanges, travel?.get ?? getNowhere);
}

/** What select picks of where a travel is; drawn again when that is another. */
export function useMomentOf<T>(select: (moment: Moment) => T): T {
  const travel = useTravel();
  return useSyncExternalStore(travel.subscribe, () => select(travel.get()));
}

const neverChanges = () => () => undefined;
const getNowhere = () => nowhere;
