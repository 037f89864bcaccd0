import { type ComponentType, createContext, useContext } from "react";

/** Renders the text of one segment of terminal text. */
export type TextRenderer = ComponentType<{ text: string }>;

function PlainTextRenderer({ text }: { text: string }) {
  return text;
}

const TextRendererContext = createContext<TextRenderer>(PlainTextRenderer);

/** Sets the component that renders the text of terminal segments below it. Without a provider, text is rendered unchanged. */
export const TextRendererProvider = TextRendererContext.Provider;

/** Returns the component that renders the text of terminal segments. */
export function useTextRenderer(): TextRenderer {
  return useContext(TextRendererContext);
}
