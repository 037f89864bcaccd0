import { Component, type ReactNode } from "react";
import styles from "./LoadErrorBoundary.module.css";
import { RetryButtons } from "./RetryButtons";

/** Shows a message and retry buttons instead of children that cannot be loaded or rendered. */
export class LoadErrorBoundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <div className={styles.loading} role="alert">
        <p>This part of the page could not be loaded.</p>
        <RetryButtons onTry={() => this.setState({ failed: false })} />
      </div>
    );
  }
}
