import { type FormEvent, useId, useState } from "react";
import { Button } from "../ui/Button";
import styles from "./TokenPrompt.module.css";

interface Props {
  /** Why the last token would not do; null: none was given. */
  refused: string | null;
  onToken: (token: string) => void;
}

/** Asks for the server's token. It is kept in memory only. */
export function TokenPrompt({ refused, onToken }: Props) {
  const [value, setValue] = useState("");
  const field = useId();
  const problem = useId();
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (value !== "") onToken(value);
  };
  return (
    <main className={styles.prompt}>
      <form onSubmit={onSubmit}>
        <h1>Assay</h1>
        <p>This server wants the token that it was started with, as --token.</p>
        <label htmlFor={field}>Token</label>
        <input
          id={field}
          type="password"
          autoComplete="current-password"
          value={value}
          aria-invalid={refused !== null}
          aria-describedby={refused === null ? undefined : problem}
          onChange={(event) => setValue(event.target.value)}
        />
        {refused !== null && (
          <p id={problem} role="alert" className={styles.refused}>
            {refused || "The server has refused that token."}
          </p>
        )}
        <Button type="submit" look="accent" disabled={value === ""}>
          Continue
        </Button>
      </form>
    </main>
  );
}
