import address from "./layoutWorker.ts?worker&url";

/** What browsers with Trusted Types have, as far as it is needed; what a policy makes is text to all others. */
interface Factory {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(url: string): string };
}

const { trustedTypes } = globalThis as { trustedTypes?: Factory };

// The page's policy lets no text become the address of a script but by what is named in it.
const policy = trustedTypes?.createPolicy("assay-worker", { createScriptURL: () => address });

/** The worker that lays graphs out; null: this browser has none. */
export function startWorker(): Worker | null {
  if (typeof Worker === "undefined") return null;
  return new Worker(policy?.createScriptURL(address) ?? address, { type: "module" });
}
