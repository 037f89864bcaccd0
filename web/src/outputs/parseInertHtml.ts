/** The part of the Trusted Types API that this page uses. Its policies return TrustedHTML, declared here as string. */
interface TrustedTypePolicyFactory {
  createPolicy(name: string, rules: { createHTML: (html: string) => string }): { createHTML(html: string): string };
}

const { trustedTypes } = window as { trustedTypes?: TrustedTypePolicyFactory };

// The page's Content-Security-Policy allows two Trusted Types policies to turn text into HTML: DOMPurify's and
// this one. Documents parsed with this one are only inspected and never inserted into the page.
const inertHtmlPolicy = trustedTypes?.createPolicy("assay-inert", { createHTML: (html) => html });

/** Parses HTML into a document without a window: no script in it runs, and nothing is loaded. */
export function parseInertHtml(html: string): Document {
  return new DOMParser().parseFromString(inertHtmlPolicy?.createHTML(html) ?? html, "text/html");
}
