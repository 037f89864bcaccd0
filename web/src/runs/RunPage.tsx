export default function RunPage({ run }: { run: string }) {
  return <main>{run}</main>;
}
