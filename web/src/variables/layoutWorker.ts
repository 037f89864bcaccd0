import type { Graph } from "./graph";
import { layoutOf } from "./layout";

// Lays out one graph off the page's thread, which some hundred cells would hold up for a second.
self.onmessage = ({ data }: MessageEvent<Graph>) => self.postMessage(layoutOf(data));
