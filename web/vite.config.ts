import react from "@vitejs/plugin-react";
import type { ProxyOptions } from "vite";
import { defineConfig } from "vitest/config";
import { chunkOf } from "./chunks.ts";

// The server of the page in development: `EVAL_SANDBOX=1 npm run dev` beside
// `EVAL_SANDBOX=1 assay serve --origin http://localhost:5173`. Sockets go to the
// server itself, everything else by way of Vite. The committed build knows neither
// of the two: it learns its mode from /api/config, and its server is its own.
const server = process.env.ASSAY_URL ?? "http://localhost:8765";

/**
 * Questions by way of Vite come from the page at Vite, as the sockets do, whose refusal
 * has no text that a page can read: a server that does not list it says so at once.
 */
const proxy: ProxyOptions = {
  target: server,
  changeOrigin: true,
  configure: (way) => {
    way.on("proxyReq", (request, { headers }) => request.setHeader("Origin", `http://${headers.host}`));
    way.on("error", (_error, _request, answer) => {
      if (!("req" in answer) || answer.headersSent) return;
      const text = `There is no server at ${server}: start assay serve, or name another one in ASSAY_URL.`;
      answer.writeHead(502, { "Content-Type": "application/json" }).end(JSON.stringify({ code: "unreachable", text }));
    });
  },
};

export default defineConfig(({ command }) => ({
  plugins: [react()],
  define: {
    "process.env.EVAL_SANDBOX": JSON.stringify(command === "serve" ? (process.env.EVAL_SANDBOX ?? "") : ""),
    "process.env.ASSAY_URL": JSON.stringify(command === "serve" ? server : ""),
  },
  server: { proxy: { "/api": proxy } },
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // the Content-Security-Policy lets no data: scripts or styles in
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
    rolldownOptions: {
      output: {
        codeSplitting: { groups: [{ name: chunkOf, debugName: "pages", includeDependenciesRecursively: false }] },
      },
    },
  },
  test: {
    environment: "happy-dom",
    // Tests parse hostile HTML: happy-dom must load no frame, style sheet or script that it names.
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
    setupFiles: ["./vitest.setup.ts"],
    include: ["*.test.ts", "src/**/*.test.{ts,tsx}"],
    restoreMocks: true,
  },
}));
