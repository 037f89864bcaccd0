import { useEffect, useState } from "react";
import { useAgent } from "../agent/useAgent";
import { useConfig } from "../app/config";
import { keepConsoleAddress } from "../app/consoleAddress";
import { CommandsProvider } from "../notebook/commands";
import { ConflictsProvider } from "../notebook/conflicts";
import { StoreProvider } from "../store/store";
import { sessionOf } from "./session";
import { TokenPrompt } from "./TokenPrompt";
import { Workbench } from "./Workbench";

/** A live session: its notebook, its agent, and all that one may do with them. */
export default function ConsolePage() {
  const config = useConfig();
  const [{ id, role }] = useState(() => sessionOf(location.search, config));
  useEffect(() => keepConsoleAddress(location), []);
  const live = useAgent(config, id, role);
  if (live.needToken) return <TokenPrompt refused={live.tokenRefused} onToken={live.submitToken} />;
  return (
    <StoreProvider value={live.store}>
      <CommandsProvider value={live.commands}>
        <ConflictsProvider value={live.conflicts}>
          <Workbench live={live} session={id} />
        </ConflictsProvider>
      </CommandsProvider>
    </StoreProvider>
  );
}
