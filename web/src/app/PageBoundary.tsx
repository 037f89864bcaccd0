import { Component, type ReactNode } from "react";
import { Button } from "../ui/Button";
import styles from "./App.module.css";

/** Says so when the page cannot be loaded or drawn, in its place. */
export class PageBoundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <div className={styles.loading} role="alert">
        <p>This part of the page could not be loaded.</p>
        <Button onClick={() => location.reload()}>Reload</Button>
      </div>
    );
  }
}
