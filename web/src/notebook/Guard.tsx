import { Component, type ReactNode, Suspense } from "react";
import { RetryButtons } from "../ui/RetryButtons";
import styles from "./Cell.module.css";

interface Props {
  /** What is drawn inside: "The outputs". */
  what: string;
  children: ReactNode;
}

/** Says so where something inside cannot be drawn, and leaves the rest of the notebook as it is. */
export class Guard extends Component<Props, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    if (!this.state.failed) return <Suspense fallback={null}>{this.props.children}</Suspense>;
    return (
      <p className={styles.failed} role="alert">
        {this.props.what} could not be drawn. <RetryButtons onTry={() => this.setState({ failed: false })} />
      </p>
    );
  }
}
