/** Where the sockets of this page go: to its own server, or when developing to the one that is named. */
export function socketURL(path: string): string {
  return new URL(path, process.env.ASSAY_URL || window.location.href).href.replace(/^http/, "ws");
}
