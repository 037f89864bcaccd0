import { defineConfig } from "@playwright/test";

/** The page in Debian's chromium, against the program that ASSAY names. */
export default defineConfig({
  testDir: "e2e",
  testIgnore: process.env.SHOTS === undefined ? "screenshots.spec.ts" : [],
  timeout: 60_000,
  expect: { timeout: 15_000 },
  workers: 2,
  forbidOnly: true,
  use: {
    viewport: { width: 1280, height: 860 },
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
