import "./styles/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { initTheme } from "./browser/theme";

initTheme();
const rootElement = document.getElementById("root");
if (rootElement === null) throw new Error("index.html has no #root");
createRoot(rootElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
