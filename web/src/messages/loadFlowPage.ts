import { getJSON, type Query } from "../api/client";
import { flowPageSchema } from "../protocol/api.gen";
import { type FlowPage, pageOf } from "./entry";
import { type Filters, queryParameters } from "./filters";

/**
 * Loads a page of the flow: from row query.skip, or from entry number query.from. base is the path
 * of the session or attempt in the API. Rejects if the request fails.
 */
export async function loadFlowPage(
  base: string,
  filters: Filters,
  query: Query & { limit: number },
  signal: AbortSignal,
): Promise<FlowPage> {
  return pageOf(await getJSON(`${base}/flow`, flowPageSchema, { ...queryParameters(filters), ...query }, signal));
}

/** Returns the total number of rows in a response. */
export function rowCountOf(page: FlowPage): number {
  return page.count ?? page.end;
}
