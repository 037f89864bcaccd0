import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";
import { useConfig } from "../../api/config";
import { TokenGate } from "../../api/TokenGate";
import { consoleAddress } from "../../routes/paths";
import { plainName } from "../../text/displayText";
import { ThemeSwitch } from "../../ui/ThemeSwitch";
import styles from "./Page.module.css";

export interface Crumb {
  label: string;
  href: string;
}

interface Props {
  /** Names the page: in the window's title and at the end of the path in the bar. */
  title: string;
  /** The pages above this one. */
  crumbs?: readonly Crumb[];
  /** The page is as high as the window, and its parts scroll by themselves. */
  fixed?: boolean;
  children: ReactNode;
}

/** The frame of the pages about runs: where one is, and the way to the others. */
export function Page({ title, crumbs = [], fixed = false, children }: Props) {
  const name = plainName(title);
  useEffect(() => {
    document.title = `${name} – Assay`;
  }, [name]);
  return (
    <div className={`${styles.page} ${fixed ? styles.fixed : ""}`}>
      <header className={styles.bar}>
        <nav aria-label="Path" className={styles.path}>
          <ol>
            <Home />
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

/** The way to the console, where there is one. */
function Home() {
  return <li>{useConfig().console ? <Link href={consoleAddress()}>Assay</Link> : <span>Assay</span>}</li>;
}
