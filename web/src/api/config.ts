import { createContext, useContext } from "react";
import type { Config } from "./client";

/** What the server has said of itself; null: it has not yet. */
export const ConfigContext = createContext<Config | null>(null);

/** What the server has said of itself. */
export function useConfig(): Config {
  const config = useContext(ConfigContext);
  if (config === null) throw new Error("no ConfigGate above");
  return config;
}
