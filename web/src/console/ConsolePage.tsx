export default function ConsolePage() {
  return <main>ConsolePage</main>;
}
