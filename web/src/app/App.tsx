import { Suspense } from "react";
import { Redirect, Route, Switch } from "wouter";
import { useConfig } from "../api/config";
import { LoadErrorBoundary } from "../ui/LoadErrorBoundary";
import { lazyPart } from "../ui/lazyPart";
import styles from "./App.module.css";
import { ConfigGate } from "./ConfigGate";

const ConsolePage = lazyPart(async () => (await import("../console/ConsolePage")).default);
const RunsPage = lazyPart(async () => (await import("../runs/RunsPage")).default);
const RunPage = lazyPart(async () => (await import("../runs/RunPage")).default);
const AttemptPage = lazyPart(async () => (await import("../runs/AttemptPage")).default);
const ComparePage = lazyPart(async () => (await import("../runs/ComparePage")).default);

/** The pages by path. Each is loaded when it is first opened. */
export function App() {
  return (
    <ConfigGate>
      <LoadErrorBoundary>
        <Suspense fallback={<p className={styles.loading}>Loading…</p>}>
          <Switch>
            <Route path="/" component={Home} />
            <Route path="/runs" component={RunsPage} />
            <Route path="/runs/:run">{({ run }) => <RunPage run={run} />}</Route>
            <Route path="/runs/:run/:attempt">
              {({ run, attempt }) => <AttemptPage run={run} attempt={attempt} />}
            </Route>
            <Route path="/compare" component={ComparePage} />
            <Route>
              <p className={styles.loading}>Page not found.</p>
            </Route>
          </Switch>
        </Suspense>
      </LoadErrorBoundary>
    </ConfigGate>
  );
}

/** The start page: the console if sessions can be started, else the runs. */
function Home() {
  return useConfig().console ? <ConsolePage /> : <Redirect to="/runs" replace />;
}
