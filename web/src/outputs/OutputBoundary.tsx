import { Component, type ReactNode } from "react";
import styles from "./Outputs.module.css";

interface Props {
  /** What is shown below, as "Output 2". */
  name: string;
  /** Another one is another try. */
  subject: unknown;
  /** What it says without its looks; "": nothing. */
  text: () => string;
  children: ReactNode;
}

interface State {
  error: Error | null;
  subject: unknown;
}

/** Keeps the fault of one output to itself, and shows its text in its place. */
export class OutputBoundary extends Component<Props, State> {
  override state: State = { error: null, subject: this.props.subject };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps(props: Props, state: State): State | null {
    return props.subject === state.subject ? null : { error: null, subject: props.subject };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const text = this.props.text();
    return (
      <div className={styles.error} role="alert">
        <p>
          {this.props.name} could not be shown: {error.message}
        </p>
        {text !== "" && <pre className={styles.raw}>{text}</pre>}
      </div>
    );
  }
}
