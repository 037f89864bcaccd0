import address from "./layoutWorker.ts?worker&url";

/** The part of the browser's Trusted Types API that this page uses. */
interface TrustedTypesAPI {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(url: string): string };
}

const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypesAPI };

// The Content-Security-Policy allows script addresses from this policy only.
const workerScriptPolicy = trustedTypes?.createPolicy("assay-worker", { createScriptURL: () => address });

/** Starts the worker that computes graph layouts; returns null if the browser has no workers. */
export function startWorker(): Worker | null {
  if (typeof Worker === "undefined") return null;
  return new Worker(workerScriptPolicy?.createScriptURL(address) ?? address, { type: "module" });
}
