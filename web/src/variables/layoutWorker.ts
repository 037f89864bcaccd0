import type { Graph } from "./graph";
import { computeLayout } from "./layout";

// Computes the layout of one graph in a worker: some hundred cells would block the page for a
// second.
self.onmessage = ({ data }: MessageEvent<Graph>) => self.postMessage(computeLayout(data));
