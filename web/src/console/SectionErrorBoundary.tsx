import { Component, type ReactNode } from "react";
import { RetryButtons } from "../ui/RetryButtons";
import styles from "./SectionErrorBoundary.module.css";

interface Props {
  /** Name of the part, such as "The notebook". */
  name: string;
  children: ReactNode;
}

/** An error boundary: if this part of the page cannot be rendered, the others stay. */
export class SectionErrorBoundary extends Component<Props, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className={styles.failed} role="alert">
        <p>{this.props.name} could not be shown. The rest of the page goes on.</p>
        <pre>{error.message.slice(0, 1000)}</pre>
        <RetryButtons onTry={() => this.setState({ error: null })} />
      </div>
    );
  }
}
