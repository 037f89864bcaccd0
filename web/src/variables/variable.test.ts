import { describe, expect, it } from "vitest";
import { filterAndSortVariables, reuseUnchanged, variablesOf } from "./variable";

const globalsSummary = {
  x10: { type: "int", repr: "3" },
  x9: { type: "list", repr: "[1, 2]", len: 2 },
  df: {
    type: "DataFrame",
    columns: ["a", "b"],
    dtypes: { a: "int64", b: "object" },
    column_preview_truncated: true,
    shape: [1200, 60],
    signal: true,
  },
  s: { type: "Series", dtype: "int64", shape: [2] },
  ad: { type: "AnnData", n_obs: 3, n_vars: 4, obs_dtypes: { cell: "category" }, obsm_keys: ["X_umap"] },
  bad: { type: "S", error: "its inspection takes over 0.1 s" },
};

describe("variablesOf", () => {
  const known = Object.fromEntries(variablesOf(globalsSummary).map((variable) => [variable.id, variable]));

  it("returns the shape or length as size", () => {
    expect(Object.values(known).map(({ id, size }) => [id, size])).toEqual([
      ["x10", ""],
      ["x9", "2 items"],
      ["df", "1200 × 60"],
      ["s", "2 items"],
      ["ad", "3 × 4"],
      ["bad", ""],
    ]);
  });

  it("returns the columns of a data frame, and says if some are missing", () => {
    expect(known.df?.details?.tables).toEqual([
      {
        heading: "Columns, the first 2",
        columns: [
          { name: "a", dtype: "int64" },
          { name: "b", dtype: "object" },
        ],
      },
    ]);
    expect(known.df).toMatchObject({ preview: "a, b", isSignal: true });
    expect(known.ad?.details?.tables.map(({ heading }) => heading)).toEqual(["By observation", "Embeddings"]);
  });

  it("keeps a long preview for the details", () => {
    const [long] = variablesOf({ long: { type: "str", repr: "y".repeat(900) } });
    expect(long?.preview.length).toBe(161);
    expect(long?.details?.text.length).toBe(900);
  });

  it("returns why a variable could not be inspected", () => {
    expect(known.bad).toMatchObject({ isError: true, preview: "its inspection takes over 0.1 s" });
  });

  it("accepts malformed summaries", () => {
    const odd = [null, 7, "x", [], { type: 4, repr: {}, len: "3", shape: [1, "2"], columns: 5, dtypes: ["a"] }];
    expect(variablesOf(Object.fromEntries(odd.map((info, n) => [`n${n}`, info]))).map(({ type }) => type)).toEqual(
      odd.map(() => "unknown"),
    );
    expect([undefined, null, 3, []].map((some) => variablesOf(some))).toEqual([[], [], [], []]);
    expect(variablesOf({ "a\u202eb": { repr: "<b>\u0007" } })[0]).toMatchObject({
      name: "a<U+202E>b",
      preview: "<b><U+0007>",
    });
  });
});

describe("reuseUnchanged", () => {
  it("reuses the objects of unchanged variables only", () => {
    const before = variablesOf(globalsSummary);
    const now = reuseUnchanged(before, variablesOf({ ...globalsSummary, x10: { type: "int", repr: "4" }, y: {} }));
    expect(now.map((variable, n) => variable === before[n])).toEqual([false, true, true, true, true, true, false]);
    expect(now[0]?.preview).toBe("4");
  });
});

describe("filterAndSort", () => {
  const names = (text: string, order: "name" | "type" | "size", down = false) =>
    filterAndSortVariables(variablesOf(globalsSummary), text, order, down).map(({ name }) => name);

  it("sorts by name with numbers in numeric order, by type, and by size", () => {
    expect(names("", "name")).toEqual(["ad", "bad", "df", "s", "x9", "x10"]);
    expect(names("", "type")[0]).toBe("ad");
    expect(names("", "size", true).slice(0, 2)).toEqual(["df", "ad"]);
  });

  it("filters by name, type and preview", () => {
    expect(names("FRAME", "name")).toEqual(["df"]);
    expect(names("[1,", "name")).toEqual(["x9"]);
    expect(names("zzz", "name")).toEqual([]);
  });
});
