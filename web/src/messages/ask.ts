import { getJSON, type Query } from "../api/client";
import { flowPageSchema } from "../protocol/api.gen";
import { type FlowPage, pageOf } from "./entry";
import { type Filters, queryOf } from "./filters";

/** A page of the flow below base, from the row skip on; from: entries from this seq on instead. */
export async function askFlow(
  base: string,
  filters: Filters,
  query: Query & { limit: number },
  signal: AbortSignal,
): Promise<FlowPage> {
  return pageOf(await getJSON(`${base}/flow`, flowPageSchema, { ...queryOf(filters), ...query }, signal));
}

/** How many rows there are, as an answer tells. */
export function countOf(page: FlowPage): number {
  return page.count ?? page.end;
}
