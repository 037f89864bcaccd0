import react from "@vitejs/plugin-react";
import type { ProxyOptions } from "vite";
import { defineConfig } from "vitest/config";
import { createChunkNamer } from "./chunks.ts";

// The server of the page during development: run `EVAL_SANDBOX=1 npm run dev` beside
// `EVAL_SANDBOX=1 assay serve --origin http://localhost:5173`. WebSockets connect to the server
// directly, HTTP requests go through Vite. The committed build uses neither variable: it reads its
// mode from /api/config and connects to the server that served it.
const assayServerURL = process.env.ASSAY_URL ?? "http://localhost:8765";

/**
 * Forwards /api to the server with the page's real Origin, as WebSockets send it. A server whose
 * --origin does not list Vite's address then refuses the first HTTP request with a readable text;
 * a page cannot read why a WebSocket was refused.
 */
const apiProxyOptions: ProxyOptions = {
  target: assayServerURL,
  changeOrigin: true,
  configure: (proxyServer) => {
    proxyServer.on("proxyReq", (request, { headers }) => request.setHeader("Origin", `http://${headers.host}`));
    proxyServer.on("error", (_error, _request, response) => {
      if (!("req" in response) || response.headersSent) return;
      const text = `No server at ${assayServerURL}: start assay serve, or set ASSAY_URL to another address.`;
      response
        .writeHead(502, { "Content-Type": "application/json" })
        .end(JSON.stringify({ code: "unreachable", text }));
    });
  },
};

export default defineConfig(({ command }) => ({
  plugins: [react()],
  define: {
    "process.env.EVAL_SANDBOX": JSON.stringify(command === "serve" ? (process.env.EVAL_SANDBOX ?? "") : ""),
    "process.env.ASSAY_URL": JSON.stringify(command === "serve" ? assayServerURL : ""),
  },
  server: { proxy: { "/api": apiProxyOptions } },
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // the Content-Security-Policy forbids data: scripts and styles
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [{ name: createChunkNamer(), debugName: "pages", includeDependenciesRecursively: false }],
        },
      },
    },
  },
  test: {
    // Tests parse hostile HTML: happy-dom must not load the frames, style sheets and scripts in it.
    environmentOptions: {
      happyDOM: {
        settings: {
          disableCSSFileLoading: true,
          disableJavaScriptFileLoading: true,
          handleDisabledFileLoadingAsSuccess: true,
          navigation: { disableChildFrameNavigation: true, disableFallbackToSetURL: true },
        },
      },
    },
    testTimeout: 30_000, // milliseconds; many workers share a slow machine
    restoreMocks: true,
    // A DOM takes half a second per file, so only the files that need one have it.
    projects: [
      {
        extends: true,
        test: { name: "node", include: ["*.test.ts", "src/**/*.test.ts"], exclude: ["src/**/*.dom.test.ts"] },
      },
      {
        extends: true,
        test: {
          name: "dom",
          include: ["src/**/*.dom.test.ts", "src/**/*.test.tsx"],
          environment: "happy-dom",
          setupFiles: ["./vitest.setup.ts"],
        },
      },
    ],
  },
}));
