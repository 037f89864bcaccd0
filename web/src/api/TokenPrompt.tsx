import { type FormEvent, useId, useState } from "react";
import { Button } from "../ui/Button";
import styles from "./TokenPrompt.module.css";

interface Props {
  /** Why the last token was refused, "" for a standard text; null: no token was submitted. */
  refused: string | null;
  onToken: (token: string) => void;
}

/** A form for the server's token, which is kept in memory only. */
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
        <p>Enter the token of this server (its --token-file or ASSAY_TOKEN).</p>
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
            {refused || "The server has refused this token."}
          </p>
        )}
        <Button type="submit" variant="accent" disabled={value === ""}>
          Continue
        </Button>
      </form>
    </main>
  );
}
