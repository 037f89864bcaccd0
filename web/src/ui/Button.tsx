import type { ButtonHTMLAttributes, ReactNode } from "react";
import styles from "./Button.module.css";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** "plain" by default; "quiet" has no border until the pointer is over it. */
  variant?: "plain" | "accent" | "danger" | "quiet";
  children: ReactNode;
}

/** Renders a button, of type "button" unless the props say otherwise. */
export function Button({ variant: look = "plain", className, ...rest }: Props) {
  return <button type="button" className={`${styles.button} ${styles[look]} ${className ?? ""}`} {...rest} />;
}

interface IconProps extends Omit<Props, "children"> {
  /** What the button does: its accessible name and its tooltip. */
  label: string;
  children: ReactNode;
}

/** Renders a button that shows only an icon; its label is its accessible name and tooltip. */
export function IconButton({ label, variant: look = "quiet", className, ...rest }: IconProps) {
  return (
    <Button variant={look} aria-label={label} title={label} className={`${styles.icon} ${className ?? ""}`} {...rest} />
  );
}
