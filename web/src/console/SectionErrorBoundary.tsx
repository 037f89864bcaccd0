import { Component, type ReactNode } from "react";
import { RetryButtons } from "../ui/RetryButtons";
import styles from "./SectionErrorBoundary.module.css";

interface Props {
  /** Name of the section at the beginning of a sentence, such as "The notebook". */
  name: string;
  children: ReactNode;
}

/** Shows an error and retry buttons instead of a section of the page that cannot be rendered. The other sections stay. */
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
        <p>{this.props.name} could not be shown. The rest of the page still works.</p>
        <pre>{error.message.slice(0, 1000)}</pre>
        <RetryButtons onTry={() => this.setState({ error: null })} />
      </div>
    );
  }
}
