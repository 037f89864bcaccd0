package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/agent/builtin/markdown"
)

func TestBL2_FencedBlocks(t *testing.T) {
	t.Parallel()
	type list = []markdown.FencedBlock
	block := func(info, text string) list { return list{{info, text, true}} }
	open := func(info, text string) list { return list{{info, text, false}} }
	for name, tc := range map[string]struct {
		text string
		want list
	}{
		"none":                       {"just `code` and text", nil},
		"empty text":                 {"", nil},
		"backticks":                  {"```python\nx = 1\ny\n```", block("python", "x = 1\ny")},
		"tildes":                     {"~~~python\nx = 1\n~~~\n", block("python", "x = 1")},
		"no tag":                     {"```\nx\n```", block("", "x")},
		"empty block":                {"```\n```", block("", "")},
		"blank lines stay":           {"```\n\nx\n\n```", block("", "\nx\n")},
		"any case":                   {"```PyThon\nx\n```", block("python", "x")},
		"first word":                 {"``` python  title=\"a b\"\nx\n```", block("python", "x")},
		"words parted by a tab":      {"```python\tlinenos\nx\n```", block("python", "x")},
		"a tag in braces is another": {"```{python}\nx\n```", block("{python}", "x")},
		"text around":                {"Look:\n```py\nx\n```\nand\n~~~\ny\n~~~\nend", list{{"py", "x", true}, {"", "y", true}}},

		"two backticks":                      {"``python\nx\n``", nil},
		"a backtick behind the fence":        {"```python `\nx", nil},
		"code in a line":                     {"```x```", nil},
		"a backtick behind tildes":           {"~~~ py ` ~\nx\n~~~", block("py", "x")},
		"longer run":                         {"````py\n```\nx\n```\n````", block("py", "```\nx\n```")},
		"longer end":                         {"```py\nx\n``````", block("py", "x")},
		"shorter end is none":                {"````py\nx\n```", open("py", "x\n```")},
		"end of the other kind is none":      {"```py\nx\n~~~\n```", block("py", "x\n~~~")},
		"end with a word is none":            {"```py\nx\n``` done\n```", block("py", "x\n``` done")},
		"white space behind the end":         {"```py\nx\n``` \t\nout", block("py", "x")},
		"another opening in a block":         {"```py\n```js\nx\n```", block("py", "```js\nx")},
		"unterminated":                       {"```py\nx", open("py", "x")},
		"unterminated behind another":        {"```py\nx\n```\n```py\ny\n", list{{"py", "x", true}, {"py", "y", false}}},
		"nothing behind the opening":         {"```py", open("py", "")},
		"indented by three":                  {"   ```py\n   x\n     y\n z\n  ```", block("py", "x\n  y\nz")},
		"indented by four":                   {"    ```py\n    x\n    ```", nil},
		"end indented by three":              {"```py\nx\n   ```", block("py", "x")},
		"end indented by four is none":       {"```py\nx\n    ```\n```", block("py", "x\n    ```")},
		"opening behind a tab":               {"\t```py\nx", nil},
		"opening behind spaces and a tab":    {"  \t```py\nx", nil},
		"end behind a tab is none":           {"```py\nx\n\t```\n```", block("py", "x\n\t```")},
		"tab in an indented block":           {"  ```py\n\tx\n ```", block("py", "  x")},
		"space and tab in one":               {"   ```py\n \tx\n```", block("py", " x")},
		"tab in a block":                     {"```py\n\tx\n```", block("py", "\tx")},
		"in a list, where the indent allows": {"- do\n  ```py\n  x\n  ```", block("py", "x")},
		"too deep in a list":                 {"- a\n  - b\n    ```py\n    x\n    ```", nil},
		"in a quote":                         {"> ```py\n> x\n> ```", nil},

		"lines of CRLF": {"```py\r\nx\r\ny\r\n```\r\n", block("py", "x\ny")},
		"lines of CR":   {"```py\rx\ry\r```\r", block("py", "x\ny")},
		"not UTF-8":     {"```p\xff\nx\xff\n```", block("p\uFFFD", "x\xff")},
		"NUL":           {"```py\n\x00\n```", block("py", "\x00")},
	} {
		require.Equal(t, tc.want, markdown.FencedBlocks(tc.text), name)
	}
}

// The blocks of a generated text are found as they were written.
func TestBL2_FencedBlocksAreFoundAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "end of line")
		var lines []string
		var want []markdown.FencedBlock
		for range rapid.IntRange(0, 5).Draw(t, "blocks") {
			mark := rapid.SampledFrom([]string{"`", "~"}).Draw(t, "mark")
			run := rapid.IntRange(3, 6).Draw(t, "run")
			indent := strings.Repeat(" ", rapid.IntRange(0, 3).Draw(t, "indent"))
			info := rapid.SampledFrom([]string{"", "py", "json"}).Draw(t, "info")
			content := rapid.SliceOf(rapid.StringMatching(`[ -}\t]{0,12}`)).Filter(func(content []string) bool {
				for _, line := range content {
					if strings.Contains(line, strings.Repeat(mark, run)) {
						return false
					}
				}
				return true
			}).Draw(t, "content")

			lines = append(lines, "Some prose.", "", indent+strings.Repeat(mark, run)+info+" more")
			if info == "" {
				lines[len(lines)-1] = indent + strings.Repeat(mark, run)
			}
			for _, line := range content {
				lines = append(lines, indent+line)
			}
			longer := strings.Repeat(mark, run+rapid.IntRange(0, 2).Draw(t, "longer"))
			lines = append(lines, "  "+longer+" ")
			want = append(want, markdown.FencedBlock{Language: info, Text: strings.Join(content, "\n"), Closed: true})
		}
		require.Equal(t, want, markdown.FencedBlocks(strings.Join(lines, end)))
	})
}

func FuzzBL2_FencedBlocks(f *testing.F) {
	for _, text := range []string{"```py\nx\n```", "~~~\r\n`\r~~~~ \n", " ```\n\t```\n", "````\n```", "\x00\xff```"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for i, block := range markdown.FencedBlocks(text) {
			require.NotContains(t, block.Text, "\r")
			require.False(t, i > 0 && !markdown.FencedBlocks(text)[i-1].Closed, "a block behind one that is open")
			// Put in a longer fence it is found again.
			fence := strings.Repeat("~", len(text)+3)
			again := markdown.FencedBlocks(fence + "\n" + block.Text + "\n" + fence)
			require.Equal(t, []markdown.FencedBlock{{Text: block.Text, Closed: true}}, again)
		}
	})
}
