export default function ComparePage() {
  return <main />;
}
