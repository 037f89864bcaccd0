/** What browsers with Trusted Types have, as far as it is needed; what a policy makes is text to all others. */
interface Factory {
  createPolicy(name: string, rules: { createHTML: (html: string) => string }): { createHTML(html: string): string };
}

const { trustedTypes } = window as { trustedTypes?: Factory };

// The page's policy lets no text become HTML but by what is named in it. This is one
// of the two, the other is the purifier: what comes out is looked at, and never put in.
const policy = trustedTypes?.createPolicy("assay-inert", { createHTML: (html) => html });

/** HTML as a document that is in no window: nothing of it runs or is fetched. */
export function parseInert(html: string): Document {
  return new DOMParser().parseFromString(policy?.createHTML(html) ?? html, "text/html");
}
