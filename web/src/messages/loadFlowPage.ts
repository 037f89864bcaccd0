import { getJSON, type QueryParameters } from "../api/client";
import { flowPageSchema } from "../protocol/api.gen";
import { type FlowPage, flowPageOf } from "./entry";
import { type Filters, flowQueryOfFilters } from "./filters";

/**
 * Loads a page of the flow: from row query.skip, or from entry number query.from. base is the path
 * of the session or attempt in the API. Rejects if the request fails.
 */
export async function loadFlowPage(
  base: string,
  filters: Filters,
  query: QueryParameters & { limit: number },
  signal: AbortSignal,
): Promise<FlowPage> {
  return flowPageOf(
    await getJSON(`${base}/flow`, flowPageSchema, { ...flowQueryOfFilters(filters), ...query }, signal),
  );
}

/** Returns the total number of rows in a response. */
export function rowCountOfPage(page: FlowPage): number {
  return page.count ?? page.end;
}
