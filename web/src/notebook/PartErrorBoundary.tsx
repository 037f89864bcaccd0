import { Component, type ReactNode, Suspense } from "react";
import { RetryButtons } from "../ui/RetryButtons";
import styles from "./Cell.module.css";

interface Props {
  /** What the children show, such as "The outputs". */
  what: string;
  children: ReactNode;
}

/** An error boundary: shows a message and a retry button if the children cannot be rendered. */
export class PartErrorBoundary extends Component<Props, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    if (!this.state.failed) return <Suspense fallback={null}>{this.props.children}</Suspense>;
    return (
      <p className={styles.failed} role="alert">
        {this.props.what} could not be displayed. <RetryButtons onTry={() => this.setState({ failed: false })} />
      </p>
    );
  }
}
