package ticks_test

import (
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/agent/builtin/ticks"
)

func TestCX2_CamelCase(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"last-eval-result": "lastEvalResult", "-x": "X", "a--b": "aB", "x-HTML5-y": "xHtml5Y", "foo-bar_baz": "fooBar_Baz",
		"": "", "-": "", "---": "", "plain": "plain", "Plain": "Plain", "SHOUT-OUT": "SHOUTOut", "a-": "a", "été-été": "étéÉté", "a-1b": "a1b",
	} {
		require.Equal(t, want, ticks.CamelCase(name), name)
	}
}

// camelCase capitalizes words as Emacs does.
func TestCX2_CamelCaseMatchesEmacs(t *testing.T) {
	t.Parallel()
	emacs := findEmacs(t)
	names := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9_.:+?é-]{0,12}`), 200, 200).Example(1)
	var quoted strings.Builder
	for _, name := range names {
		quoted.WriteString(` "` + name + `"`)
	}
	program := `(dolist (name '(` + quoted.String() + `))
		(let ((parts (split-string name "-")))
		  (princ (concat (car parts) (mapconcat #'capitalize (cdr parts) "") "\n"))))`
	out, err := exec.CommandContext(t.Context(), emacs, "--quick", "--batch", "--eval", program).Output()
	require.NoError(t, err)
	for i, want := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		require.Equal(t, want, ticks.CamelCase(names[i]), names[i])
	}
}

func TestEV6_MonologueLines(t *testing.T) {
	t.Parallel()
	fifty, thirty := strings.Repeat("s", 50), strings.Repeat("r", 30)
	for want, line := range map[string]string{
		"EVAL: (+ 2 2) => 4":                                    ticks.EvalMonologueLine("(+ 2 2)", "4", ""),
		"EVAL: " + fifty + " => " + thirty:                      ticks.EvalMonologueLine(fifty, thirty, ""),
		"EVAL: " + fifty[:47] + "... => " + thirty[:27] + "...": ticks.EvalMonologueLine(fifty+"s", thirty+"r", ""),
		"EVAL ERROR: x => " + strings.Repeat("e", 5000):         ticks.EvalMonologueLine("x", "", strings.Repeat("e", 5000)),
		`EVAL ERROR: a\nb => one\ntwo\tthree`:                   ticks.EvalMonologueLine("a\nb", "", "one\ntwo\tthree"),
		`EVAL: a\nb\tc => "\n"`:                                 ticks.EvalMonologueLine("a\nb\tc", "\"\n\"", ""),
		"EVAL: " + strings.Repeat("字", 23) + "... => 1":         ticks.EvalMonologueLine(strings.Repeat("字", 40), "1", ""),
		"EVAL: " + strings.Repeat("字", 25) + " => 1":            ticks.EvalMonologueLine(strings.Repeat("字", 25), "1", ""),
		`EVAL: ` + fifty[:46] + `\... => 1`:                     ticks.EvalMonologueLine(fifty[:46]+"\nsss", "1", ""), // 51 when escaped
		`EVAL: ` + fifty[:48] + `\n => 1`:                       ticks.EvalMonologueLine(fifty[:48]+"\n", "1", ""),    // 50 when escaped
		`EVAL: \u001b[0m\r\u2028\u0000 => 1`:                    ticks.EvalMonologueLine("\x1b[0m\r\u2028\x00", "1", ""),
		"EVAL: \uFFFD => 1":                                     ticks.EvalMonologueLine("\xff", "1", ""),
	} {
		require.Equal(t, want, line)
	}
}

func TestEV6_TerminalColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "abc": 3, "字": 2, "ｆ": 2, "ｶ": 1, "한": 2, "\u1112\u1161\u11ab": 2, "é": 1, "e\u0301": 1, "😀": 2, "👍🏽": 4, "👩\u200d👧": 4,
		"🇩🇪": 2, "\u200b": 0, "\u00ad": 1, "א\u05b0": 1, "↑": 1,
	} {
		require.Equal(t, want, ticks.TerminalColumns(text), "%q", text)
	}
	for text, want := range map[string][]string{
		"ae\u0301b": {"a", "e\u0301", "b"}, "👩\u200d👧x": {"👩\u200d👧", "x"}, "🇩🇪🇫🇷": {"🇩🇪", "🇫🇷"}, "👍🏽!": {"👍🏽", "!"}, "\u0301a": {"\u0301", "a"}, "": nil,
	} {
		require.Equal(t, want, ticks.Graphemes(text), "%q", text)
	}
	require.Equal(t, "👩\u200d👧...", ticks.CutColumns("👩\u200d👧👩\u200d👧", 7))
	require.Equal(t, "...", ticks.CutColumns("👩\u200d👧👩\u200d👧", 6))
}

// A text that is cut is not too long, is a prefix of whole characters, and is as long as it
// may be.
func TestEV6_CutColumnsOfAnyText(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"a", "字", "e\u0301", "😀", "👩\u200d👧", "🇩🇪", "\u200d", "\u0301", "ｆ", " ", "\xff", "한"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "text"), "")
		limit := rapid.IntRange(3, 60).Draw(t, "limit")
		cut := ticks.CutColumns(text, limit)
		require.LessOrEqual(t, ticks.TerminalColumns(cut), limit)
		all := ticks.Graphemes(text)
		require.Equal(t, text, strings.Join(all, ""))
		if ticks.TerminalColumns(text) <= limit {
			require.Equal(t, text, cut)
			return
		}
		kept, whole := strings.CutSuffix(cut, "...")
		require.True(t, whole)
		for _, character := range all {
			rest, ok := strings.CutPrefix(kept, character)
			if !ok {
				require.Greater(t, ticks.TerminalColumns(cut)+ticks.TerminalColumns(character), limit)
				break
			}
			kept = rest
		}
		require.Empty(t, kept)
	})
}

func FuzzEscapeLine(f *testing.F) {
	f.Add("a\nb\t\r\x00\u2028\xff")
	f.Fuzz(func(t *testing.T, text string) {
		line := ticks.EscapeLine(text)
		require.True(t, utf8.ValidString(line))
		require.NotContains(t, line, "\n")
		require.LessOrEqual(t, ticks.TerminalColumns(ticks.CutColumns(line, 50)), 50)
	})
}

func FuzzCamelCase(f *testing.F) {
	f.Add("last-eval-result")
	f.Fuzz(func(t *testing.T, name string) {
		got := ticks.CamelCase(name)
		first, rest, hyphen := strings.Cut(name, "-")
		require.True(t, strings.HasPrefix(got, first))
		require.NotContains(t, got[len(first):], "-")
		if !hyphen {
			require.Empty(t, rest)
			require.Equal(t, name, got)
		}
	})
}

func TestTK1_FirstObjectOfAReply(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"thought":"a"}`: "a",
		"I think:\n```json\n{\"thought\":\"a\"}\n```\nand {\"thought\":\"b\"}":       "a",
		"{\"thought\":\"b\"}\n```json\n{\"thought\":\"a\"}\n```":                     "a",
		"```\n[1]\n```\n```python\nx = {}\n```\n~~~\n{\"thought\":\"a\"}\n~~~":       "a",
		"```json\n{\"thought\":\"a\"}":                                               "a", // never closed
		"```json\nso: {\"thought\":\"a\"}\n```":                                      "a",
		`Well { this } and [1] "x" {"thought":"a {\"} b","x":{"thought":"c"}} more}`: `a {"} b`,
		`so: {"thought":"a } b"}.`:                                                   "a } b", `so: {"thought":"a { \" } b"}.`: `a { " } b`,
		`{ {"thought":"a"}`:                             "a",
		`{"a": "{"  {"thought":"a"}`:                    "a",
		strings.Repeat("{x}", 1000) + `{"thought":"a"}`: "a",
		`{"thought":{"a":1}}`:                           `{"a":1}`,
		`{"thought":["a", "b"]}`:                        `["a", "b"]`,
		`{"thought":null}`:                              "",
		`{"thought":false}`:                             "",
		`{"thought":3}`:                                 "3",
		`{"thought":"a","thought":"b"}`:                 "b",
		`{}`:                                            "",
		"{\"thought\":\"\xff\"}":                        "\uFFFD",
		`{"thought":"\ud800"}`:                          "\uFFFD",
	} {
		thought, _, _, ok := ticks.ParseReply(text)
		require.True(t, ok, text)
		require.Equal(t, want, thought, text)
	}
	for _, text := range []string{
		"", "hello", "[1]", "null", "{", "}", `{"a":}`, `"{"`, "{'thought': 'a'}",
		strings.Repeat("{", 1<<20), strings.Repeat(`{"a":`, 1<<18), strings.Repeat("{", 20000) + strings.Repeat("}", 20000),
		strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000),
	} {
		thought, mood, reply, ok := ticks.ParseReply(text)
		require.False(t, ok)
		require.Equal(t, text, thought)
		require.Equal(t, "uncertain", mood)
		require.Empty(t, reply)
	}
}

func FuzzParseReply(f *testing.F) {
	for _, seed := range []string{`{"eval":"(+ 1 2)"}`, "```json\n{}\n```", "{{}", `{"confidence":1e999,"mood":5,"thread":[]}`, "~~~\n{\"reply\":[[[]]]}\n~~~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		thought, mood, _, ok := ticks.ParseReply(text)
		if !ok {
			require.Equal(t, text, thought)
			require.Equal(t, "uncertain", mood)
		}
	})
}
