export default function AttemptPage({ run, attempt }: { run: string; attempt: string }) {
  return <main>{`${run} ${attempt}`}</main>;
}
