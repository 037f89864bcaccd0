import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";
import { useConfig } from "../../api/config";
import { TokenGate } from "../../api/TokenGate";
import { consoleAddress } from "../../routes/paths";
import { plainName } from "../../text/displayText";
import { ThemeSwitch } from "../../ui/ThemeSwitch";
import styles from "./Page.module.css";

export interface Breadcrumb {
  label: string;
  href: string;
}

interface Props {
  /** Title of the window, and the last item of the breadcrumbs. */
  title: string;
  /** The parent pages. */
  crumbs?: readonly Breadcrumb[];
  /** The page has the height of the window and its parts scroll separately. */
  fixed?: boolean;
  children: ReactNode;
}

/** The frame of all pages about runs: breadcrumbs, theme switch and the token form. */
export function RunsPageFrame({ title, crumbs = [], fixed = false, children }: Props) {
  const name = plainName(title);
  useEffect(() => {
    document.title = `${name} – Assay`;
  }, [name]);
  return (
    <div className={`${styles.page} ${fixed ? styles.fixed : ""}`}>
      <header className={styles.bar}>
        <nav aria-label="Path" className={styles.path}>
          <ol>
            <ConsoleLink />
            {crumbs.map((crumb) => (
              <li key={crumb.href}>
                <Link href={crumb.href}>
                  <bdi>{plainName(crumb.label)}</bdi>
                </Link>
              </li>
            ))}
            <li aria-current="page">
              <bdi>{name}</bdi>
            </li>
          </ol>
        </nav>
        <ThemeSwitch />
      </header>
      <TokenGate>
        <main className={styles.main}>{children}</main>
      </TokenGate>
    </div>
  );
}

/** A link to the console if the server has one. */
function ConsoleLink() {
  return <li>{useConfig().console ? <Link href={consoleAddress()}>Assay</Link> : <span>Assay</span>}</li>;
}
