import { withQuery } from "../api/client";

/** What the server takes in the mode for one's own machine. */
const sandboxToken = "local-dev-token";

/** The address of a socket of the server: of the one that vite was told of, else the page's own. */
export function socketURL(path: "/run" | "/agent", session: string): string {
  const server = process.env.ASSAY_URL || location.origin;
  return withQuery(server.replace(/^http/, "ws").replace(/\/$/, "") + path, { session });
}

/** The token to be sent: the one that was given, or that of the sandbox, which need not be given. */
export function tokenFor(sandbox: boolean, given: string | null): string {
  return sandbox ? sandboxToken : (given ?? "");
}
