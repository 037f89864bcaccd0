import { createContext, useContext } from "react";
import { type PublicConfig, publicConfigSchema } from "../protocol/config.gen";
import { getJSON } from "./client";

/** The server's configuration. */
export type Config = PublicConfig;

export function getConfig(signal?: AbortSignal): Promise<Config> {
  return getJSON("/api/config", publicConfigSchema, {}, signal);
}

/** The server's configuration; null: not loaded yet. */
export const ConfigContext = createContext<Config | null>(null);

/** Returns the server's configuration. Must be used below ConfigGate. */
export function useConfig(): Config {
  const config = useContext(ConfigContext);
  if (config === null) throw new Error("useConfig is used outside of ConfigGate");
  return config;
}
