import { Component, type ReactNode } from "react";
import { UnknownWidget } from "./UnknownWidget";

interface Props {
  /** The state of the widget that the children render. */
  widget: unknown;
  children: ReactNode;
}

/** Shows a widget's state as JSON if its component throws, until the state changes. */
export class WidgetErrorBoundary extends Component<Props, { failed: unknown }> {
  override state: { failed: unknown } = { failed: undefined };

  static getDerivedStateFromProps(props: Props, state: { failed: unknown }) {
    return state.failed === undefined || state.failed === props.widget ? null : { failed: undefined };
  }

  override componentDidCatch(error: unknown) {
    console.error("a widget could not be rendered", error);
  }

  static getDerivedStateFromError() {
    return { failed: {} };
  }

  override render() {
    if (this.state.failed === undefined) return this.props.children;
    return <UnknownWidget widget={this.props.widget} why="This widget could not be shown." />;
  }
}
