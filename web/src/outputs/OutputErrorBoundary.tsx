import { Component, type ReactNode } from "react";
import styles from "./Outputs.module.css";

interface Props {
  /** Name of the output in the error message, as "Output 2". */
  outputName: string;
  /** The content that is shown. When it changes, the error is cleared and the children are rendered again. */
  subject: unknown;
  /** Returns plain text to show below the error message; "" for none. */
  fallbackText: () => string;
  children: ReactNode;
}

interface OutputErrorBoundaryState {
  error: Error | null;
  subject: unknown;
}

/** Catches an error that rendering one output throws, and shows the error with the output's plain text instead. */
export class OutputErrorBoundary extends Component<Props, OutputErrorBoundaryState> {
  override state: OutputErrorBoundaryState = { error: null, subject: this.props.subject };

  static getDerivedStateFromError(error: unknown): Partial<OutputErrorBoundaryState> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps(props: Props, state: OutputErrorBoundaryState): OutputErrorBoundaryState | null {
    return props.subject === state.subject ? null : { error: null, subject: props.subject };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const text = this.props.fallbackText();
    return (
      <div className={styles.error} role="alert">
        <p>
          {this.props.outputName} could not be shown: {error.message}
        </p>
        {text !== "" && <pre className={styles.fallbackText}>{text}</pre>}
      </div>
    );
  }
}
