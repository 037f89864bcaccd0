import { type ReactNode, useEffect, useState } from "react";
import { type Config, getConfig } from "../api/client";
import { ConfigContext } from "../api/config";
import { Button } from "../ui/Button";
import styles from "./App.module.css";

/** Under `vite dev` the mode is that of the environment; the committed build asks the server. */
const developing = process.env.EVAL_SANDBOX === "1";

/** How long the server may take to say what it is, in milliseconds. */
const within = 10_000;

function askInTime(): Promise<Config> {
  const asking = new AbortController();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error("The server does not answer."));
      asking.abort();
    }, within);
    getConfig(asking.signal)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/** Draws what is below when the server has said what it is. */
export function ConfigGate({ children }: { children: ReactNode }) {
  const [config, setConfig] = useState<Config | Error | null>(null);
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: round asks again
  useEffect(() => {
    let gone = false;
    askInTime()
      .then((found) => (developing ? { ...found, eval_sandbox: true } : found))
      .catch((error: Error) => error)
      .then((found) => !gone && setConfig(found));
    return () => {
      gone = true;
    };
  }, [round]);
  if (config === null) return null;
  if (config instanceof Error) {
    return (
      <div className={styles.loading} role="alert">
        <p>{config.message}</p>
        <Button onClick={() => setRound(round + 1)}>Try again</Button>
      </div>
    );
  }
  return <ConfigContext.Provider value={config}>{children}</ConfigContext.Provider>;
}
