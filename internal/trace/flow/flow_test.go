package flow_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/trace"
	"assay/internal/trace/flow"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the expectations in testdata")
	goleak.VerifyTestMain(m)
}

// TestFramesOfGoldenTraces checks what is made of the traces in testdata/*.txtar. A
// file has some of these sections:
//
//	-- trace --   an entry a line: milliseconds, hop, type, key=value …; its seq is the number of the line
//	-- text --    the lines of a LineFormatter for WalkFinished
//	-- NAME --    the same for some frames: NAME is a filter as key=value …, or "follow" for WalkLive
//	-- delays --  the delays as JSON
//	-- stats --   the summary of Stats as JSON
//
// With -update all sections but the trace are rewritten.
func TestFramesOfGoldenTraces(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			require.Equal(t, "trace", archive.Files[0].Name)
			path := writeTrace(t, string(archive.Files[0].Data))
			for i, section := range archive.Files[1:] {
				got := renderGoldenSection(t, path, section.Name)
				if flag.Lookup("update").Value.String() == "true" {
					archive.Files[i+1].Data = []byte(got)
					continue
				}
				require.Equal(t, string(section.Data), got, section.Name)
			}
			if flag.Lookup("update").Value.String() == "true" {
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o600))
			}
		})
	}
}

// writeTrace writes the trace that a section of a test file describes to a file.
func writeTrace(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "trace.jsonl")
	out := headerLine
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		fields := strings.Fields(line)
		ms, err := strconv.ParseFloat(fields[0], 64)
		require.NoError(t, err, line)
		entry := fmt.Sprintf(`{"seq":%d,"t_ns":%d,"hop":%q,"type":%q`, i+1, int64(ms*1e6), fields[1], strings.Trim(fields[2], "-"))
		var msg strings.Builder
		for _, field := range fields[3:] {
			key, value, ok := strings.Cut(field, "=")
			require.True(t, ok, line)
			switch key {
			case "conn", "ref", "cause":
				entry += fmt.Sprintf(`,%q:%s`, key, value)
			case "msg":
				msg.WriteString(value)
			default:
				entry += fmt.Sprintf(`,%q:%q`, key, value)
			}
		}
		if msg.Len() == 0 {
			msg.WriteString("{}")
		}
		out += entry + `,"bytes":100,"msg":` + msg.String() + "}\n"
	}
	require.NoError(t, os.WriteFile(path, []byte(out), 0o600))
	return path
}

// headerLine is the first line of a trace file, for tests.
const headerLine = `{"type":"trace","version":1,"session":"s","started":"2026-01-02T03:04:05Z"}` + "\n"

// renderGoldenSection returns what the section of this name must have for the trace file at path.
func renderGoldenSection(t *testing.T, path, section string) string {
	t.Helper()
	var text strings.Builder
	var stats flow.StatsCollector
	filter, show := flow.Filter{}, flow.LineFormatter{}
	for field := range strings.FieldsSeq(section) {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "tx":
			filter.TxID, show.FullIDs = value, true
		case "action":
			filter.Action = value
		case "hop":
			filter.Hop = trace.Hop(value)
		case "cell":
			filter.CellID = value
		case "late":
			late, err := time.ParseDuration(value)
			require.NoError(t, err)
			filter.MinDelay, show.ShowSlowest = late, true
		case "text", "follow", "delays", "stats":
		default:
			require.Fail(t, "unknown section", section)
		}
	}
	each := func(f flow.Frame) error {
		stats.AddFrame(f)
		switch {
		case !filter.Match(f), section == "stats":
		case section != "delays":
			text.WriteString(show.FormatLine(f) + "\n")
		case f.DelayRequest != nil:
			text.WriteString(toJSONLine(t, f.DelayRequest.Delay()))
		}
		return nil
	}
	if strings.HasPrefix(section, "follow") {
		src := openTail(t, path)
		require.NoError(t, flow.WalkLive(t.Context(), src, each))
		return text.String()
	}
	require.NoError(t, flow.WalkFinished(t.Context(), tailOpener(path), each))
	if section == "stats" {
		return toJSONLine(t, stats.Summary())
	}
	return text.String()
}

// toJSONLine returns value as JSON in one line.
func toJSONLine(t *testing.T, value any) string {
	t.Helper()
	line, err := json.Marshal(value)
	require.NoError(t, err)
	return string(line) + "\n"
}

// tailOpener returns a function that opens a Tail of the file at path, as often as it is
// called.
func tailOpener(path string) func(context.Context) (flow.LineSource, error) {
	return func(context.Context) (flow.LineSource, error) { return trace.OpenTail(path, nil) }
}

// openTail opens a Tail of a file that does not grow, and closes it when the test ends.
func openTail(t *testing.T, path string) *trace.Tail {
	t.Helper()
	opened, err := trace.OpenTail(path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	return opened
}
