import { type ReactNode, useEffect, useState } from "react";
import { type Config, ConfigContext, getConfig } from "../api/config";
import { Button } from "../ui/Button";
import styles from "./App.module.css";

/** Under `vite dev` sandbox mode is set by the environment; the committed build asks the server. */
const isSandboxDev = process.env.EVAL_SANDBOX === "1";

const configTimeoutMs = 10_000;

function loadConfig(): Promise<Config> {
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error("The server does not answer."));
      controller.abort();
    }, configTimeoutMs);
    getConfig(controller.signal)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/** Renders the children after the server's configuration is loaded. */
export function ConfigGate({ children }: { children: ReactNode }) {
  const [config, setConfig] = useState<Config | Error | null>(null);
  const [attempt, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: attempt retries
  useEffect(() => {
    let isUnmounted = false;
    loadConfig()
      .then((found) => (isSandboxDev ? { ...found, eval_sandbox: true } : found))
      .catch((error: Error) => error)
      .then((found) => !isUnmounted && setConfig(found));
    return () => {
      isUnmounted = true;
    };
  }, [attempt]);
  if (config === null) return null;
  if (config instanceof Error) {
    return (
      <div className={styles.loading} role="alert">
        <p>{config.message}</p>
        <Button onClick={() => setRound(attempt + 1)}>Try again</Button>
      </div>
    );
  }
  return <ConfigContext.Provider value={config}>{children}</ConfigContext.Provider>;
}
