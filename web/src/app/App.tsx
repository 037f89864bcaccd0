import { Suspense } from "react";
import { Redirect, Route, Switch } from "wouter";
import { useConfig } from "../api/config";
import { lazily } from "../ui/lazily";
import { PageBoundary } from "../ui/PageBoundary";
import styles from "./App.module.css";
import { ConfigGate } from "./ConfigGate";

const ConsolePage = lazily(async () => (await import("../console/ConsolePage")).default);
const RunsPage = lazily(async () => (await import("../runs/RunsPage")).default);
const RunPage = lazily(async () => (await import("../runs/RunPage")).default);
const AttemptPage = lazily(async () => (await import("../runs/AttemptPage")).default);
const ComparePage = lazily(async () => (await import("../runs/ComparePage")).default);

/** Which page is shown at which path. Each is loaded when it is first needed. */
export function App() {
  return (
    <ConfigGate>
      <PageBoundary>
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
              <p className={styles.loading}>There is nothing here.</p>
            </Route>
          </Switch>
        </Suspense>
      </PageBoundary>
    </ConfigGate>
  );
}

/** The console, where sessions can be worked in; else what there is to look at. */
function Home() {
  return useConfig().console ? <ConsolePage /> : <Redirect to="/runs" replace />;
}
