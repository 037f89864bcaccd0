import { Component, type ReactNode } from "react";
import styles from "./PageBoundary.module.css";
import { TryAgain } from "./TryAgain";

/** Says so when the page, or a part of it, cannot be loaded or drawn, in its place. */
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
        <TryAgain onTry={() => this.setState({ failed: false })} />
      </div>
    );
  }
}
