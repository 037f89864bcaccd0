import { useEffect, useState } from "react";
import { useAgent } from "../agent/useAgent";
import { useConfig } from "../api/config";
import { TokenPrompt } from "../api/TokenPrompt";
import { ConflictsProvider } from "../commands/conflicts";
import { storeConsoleAddress } from "../routes/paths";
import { StoreProvider } from "../store/store";
import { lazyPart } from "../ui/lazyPart";
import { sessionFromAddress } from "./sessionFromAddress";
import { Workbench } from "./Workbench";

const PersonWorkbench = lazyPart(async () => (await import("./PersonWorkbench")).default);

/** Renders the page of the live session that the page's address names, or asks for the access token. */
export default function ConsolePage() {
  const config = useConfig();
  const [{ id, role }] = useState(() => sessionFromAddress(location.search, config));
  useEffect(() => storeConsoleAddress(location), []);
  const live = useAgent(config, id, role);
  if (live.needsToken) return <TokenPrompt refused={live.tokenRefusal} onToken={live.submitToken} />;
  return (
    <StoreProvider value={live.store}>
      <ConflictsProvider value={live.conflicts}>
        {config.person === undefined ? (
          <Workbench live={live} session={id} />
        ) : (
          <PersonWorkbench live={live} session={id} person={config.person} />
        )}
      </ConflictsProvider>
    </StoreProvider>
  );
}
