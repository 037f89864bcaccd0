import { createContext, type ReactNode, useCallback, useContext, useState } from "react";
import { getToken, setToken } from "./client";
import { TokenPrompt } from "./TokenPrompt";

const RefusedContext = createContext<() => void>(() => undefined);

/** To be called when the server has answered 401: it wants a token, or another one. */
export function useRefused(): () => void {
  return useContext(RefusedContext);
}

/** Draws what is below, or, once the server has refused to answer it, asks for the token first. */
export function TokenGate({ children }: { children: ReactNode }) {
  const [wanted, setWanted] = useState(false);
  const refused = useCallback(() => setWanted(true), []);
  if (!wanted) return <RefusedContext.Provider value={refused}>{children}</RefusedContext.Provider>;
  return (
    <TokenPrompt
      refused={getToken() === null ? null : ""}
      onToken={(token) => {
        setToken(token);
        setWanted(false);
      }}
    />
  );
}
