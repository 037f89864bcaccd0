/** Compares texts as people sort them: "case 2" before "case 10". */
export const collator = new Intl.Collator("en", { numeric: true });
