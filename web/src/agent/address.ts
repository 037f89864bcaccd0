/** What the server takes in the mode for one's own machine. */
const sandboxToken = "local-dev-token";

/** The token to be sent: the one that was given, or that of the sandbox, which need not be given. */
export function tokenFor(sandbox: boolean, given: string | null): string {
  return sandbox ? sandboxToken : (given ?? "");
}
