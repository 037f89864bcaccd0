import "./styles/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { takeTokenFromAddress } from "./api/tokenFromAddress";
import { App } from "./app/App";
import { initTheme } from "./browser/theme";

initTheme();
takeTokenFromAddress();
const rootElement = document.getElementById("root");
if (rootElement === null) throw new Error("index.html has no #root");
createRoot(rootElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
