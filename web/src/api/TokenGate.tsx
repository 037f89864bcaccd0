import { createContext, type ReactNode, useCallback, useContext, useState } from "react";
import { getToken, setToken } from "./client";
import { TokenPrompt } from "./TokenPrompt";

const TokenNeededContext = createContext<() => void>(() => undefined);

/** Returns a function to call when the server has answered 401: it needs a token, or another one. */
export function useReportTokenNeeded(): () => void {
  return useContext(TokenNeededContext);
}

/** Renders the children. After the server has answered 401 it renders a form for the token instead. */
export function TokenGate({ children }: { children: ReactNode }) {
  const [isNeeded, setWanted] = useState(false);
  const onNeeded = useCallback(() => setWanted(true), []);
  if (!isNeeded) return <TokenNeededContext.Provider value={onNeeded}>{children}</TokenNeededContext.Provider>;
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
