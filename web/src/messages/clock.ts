import { createContext } from "react";
import { fieldsOf, listOf, numberOf, timeOf } from "../json/read";

/** When the trace that is shown began, in milliseconds as of Date.now(); null: not known. */
export const BeginningContext = createContext<number | null>(null);

/** When a trace began, as its first entry tells. */
export function beginningOf(page: unknown): number | null {
  const { wall, t_ns } = fieldsOf(listOf(fieldsOf(page).entries)[0]);
  const at = timeOf(wall);
  const since = numberOf(t_ns);
  return at === null || since === null ? null : at - since / 1e6;
}
