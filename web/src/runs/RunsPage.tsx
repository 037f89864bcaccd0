export default function RunsPage() {
  return <main>RunsPage</main>;
}
