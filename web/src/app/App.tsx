import { lazy, Suspense } from "react";
import { Redirect, Route, Switch } from "wouter";
import styles from "./App.module.css";
import { ConfigGate, useConfig } from "./config";
import { PageBoundary } from "./PageBoundary";

const ConsolePage = lazy(() => import("../console/ConsolePage"));
const RunsPage = lazy(() => import("../runs/RunsPage"));
const RunPage = lazy(() => import("../runs/RunPage"));
const AttemptPage = lazy(() => import("../runs/AttemptPage"));
const ComparePage = lazy(() => import("../runs/ComparePage"));

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
