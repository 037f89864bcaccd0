package grading_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// gradeWithShellScript grades input with a command grader whose command is this shell
// script.
func gradeWithShellScript(ctx context.Context, script string, in grading.Input) grading.Result {
	config := pyvalue.NewObject("argv", pyvalue.List{pyvalue.String("sh"), pyvalue.String("-c"), pyvalue.String(script), pyvalue.String("grade")})
	return grading.Grade(ctx, grading.Spec{Type: "command", Config: config}, in)
}

func TestCommandVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script, outcome string
		score           float64
		reasoning       string
	}{
		{`echo '{"passed": true}'`, "pass", 1, "Command: PASS"},
		{`echo '{"passed": false}'`, "fail", 0, "Command: FAIL\n\nFailures:\n- sh says that it did not pass, and not why"},
		{`echo '{"passed": false}'; exit 1`, "fail", 0, "says that"},
		{`echo '{"passed": true, "score": 0.25, "reasoning": "so so"}'`, "pass", 0.25, "so so"},
		{`echo '{"passed": false, "score": 1, "reasoning": ""}'`, "fail", 1, "sh says"},
		{`printf ' \n{"passed":\ntrue} \n'`, "pass", 1, ""},
		{`echo noise >&2; echo '{"passed": true}'`, "pass", 1, ""},

		{`echo '{"passed": true}'; exit 1`, "command_crash", 0, "the command sh exited with status 1, which does not agree with passed true"},
		{`echo '{"passed": true}'; exit 2`, "command_crash", 0, "the command sh exited with status 2"},
		{`echo '{"passed": false}'; echo 'no such file' >&2; exit 127`, "command_crash", 0, "the command sh exited with status 127; on stderr it printed last: no such file"},
		{`echo '{"passed": true}'; kill -9 $$`, "command_crash", 0, "the command sh was killed by SIGKILL"},
		{`echo '{"passed": true}'; echo oh >&2; kill -15 $$`, "command_crash", 0, "the command sh was killed by SIGTERM; on stderr it printed last: oh"},
		{`:`, "command_crash", 0, "the command sh exited with status 0 and without an answer on stdout"},
		{`echo; exit 1`, "command_crash", 0, "exited with status 1 and without an answer on stdout"},
		{`echo ok`, "command_crash", 0, "exited with status 0 and gave an answer that cannot be read: want one JSON object: line 1 column 1"},
		{`echo '{"passed": true} {"passed": true}'`, "command_crash", 0, "expected the end, found '{'"},
		{`echo '{"passed": false, "passed": true}'`, "command_crash", 0, "line 1 column 19: expected a key that is new to the object"},
		{`echo '[true]'`, "command_crash", 0, "want a JSON object, found list"},
		{`echo '{}'`, "command_crash", 0, "passed is missing"},
		{`echo '{"passed": 1}'`, "command_crash", 0, "passed: want true or false, found 1"},
		{`echo '{"passed": "true"}'`, "command_crash", 0, "passed: want true or false, found 'true'"},
		{`echo '{"passed": true, "socre": 1}'`, "command_crash", 0, `unknown key "socre"; known are passed, score, reasoning, metrics`},
		{`echo '{"Passed": true, "passed": true}'`, "command_crash", 0, `unknown key "Passed"`},
		{`echo '{"passed": true, "score": 1.01}'`, "command_crash", 0, "score: want a number from 0 to 1, found 1.01"},
		{`echo '{"passed": true, "score": NaN}'`, "command_crash", 0, "score: want a number from 0 to 1, found nan"},
		{`echo '{"passed": true, "score": 1e400}'`, "command_crash", 0, "score: want a number from 0 to 1, found inf"},
		{`echo '{"passed": true, "score": "1"}'`, "command_crash", 0, "score: want a number"},
		{`echo '{"passed": true, "score": true}'`, "command_crash", 0, "score: want a number"},
		{`echo '{"passed": true, "reasoning": null}'`, "command_crash", 0, "reasoning: want a string, found None"},
		{`echo '{"passed": true, "metrics": [1]}'`, "command_crash", 0, "metrics: want an object, found [1]"},
	} {
		got := gradeWithShellScript(t.Context(), c.script, grading.Input{})
		require.Equal(t, c.outcome, resultOutcomeWithErrorKind(got), "%s: %s", c.script, got.Reasoning)
		require.InDelta(t, c.score, got.Score, 0, c.script)
		require.Contains(t, got.Reasoning, c.reasoning, c.script)
	}
	got := gradeWithShellScript(t.Context(), `echo '{"passed": true, "metrics": {"z": 1, "a": 1.0}}'`, grading.Input{})
	require.Equal(t, `{"z":1,"a":1.0}`, pyvaluetest.MarshalToString(t, got.Metrics))
}

// A grading command gets the record on stdin, and its folder, environment and arguments
// without a shell in between.
func TestCommandGetsRecordOnStdin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := "#!/bin/sh\nread -r line\nprintf '{\"passed\": true, \"metrics\": {\"in\": %s, \"dir\": \"%s\", \"arg\": \"%s\", \"key\": \"%s\", \"home\": \"%s\"}}' \"$line\" \"$PWD\" \"$1\" \"$KEY\" \"$HOME\"\n"
	for _, name := range []string{"grade.sh", "on-path"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(program), 0o700))
	}
	run := func(program string, in grading.Input) string {
		config := pyvalue.NewObject("argv", pyvalue.List{pyvalue.String(program), pyvalue.String("$HOME *;")})
		got := grading.Grade(t.Context(), grading.Spec{Type: "command", Config: config}, in)
		require.Equal(t, "pass", resultOutcomeWithErrorKind(got), got.Reasoning)
		return pyvaluetest.MarshalToString(t, got.Metrics)
	}
	answer := pyvaluetest.MustDecode(t, `{"n": NaN, "e": "é"}`)
	require.JSONEq(t, `{"in": {"answer": {"n": {"$float": "NaN"}, "e": "é"}}, "dir": "`+dir+`", "arg": "$HOME *;", "key": "", "home": ""}`,
		run("./grade.sh", grading.Input{Dir: dir, Answer: answer}))
	require.JSONEq(t, `{"in": {"answer": null}, "dir": "`+dir+`", "arg": "$HOME *;", "key": "v", "home": ""}`,
		run("on-path", grading.Input{Dir: dir, Environ: []string{"KEY=v", "PATH=/nowhere", "PATH=relative:" + dir}}))
	require.JSONEq(t, `{"in": {"case": "c"}, "dir": "`+dir+`", "arg": "$HOME *;", "key": "", "home": ""}`,
		run(filepath.Join(dir, "grade.sh"), grading.Input{Dir: dir, Environ: []string{}, Answer: answer, Record: json.RawMessage(`{"case": "c"}`)}))

	got := gradeWithShellScript(t.Context(), "true", grading.Input{Environ: []string{"PATH=" + dir}})
	require.Equal(t, &pyvalue.Error{Kind: "command", Text: `the command sh is not on PATH, which is "` + dir + `"`}, got.Error)
	got = grading.Grade(t.Context(), grading.Spec{Type: "command", Config: pyvaluetest.MustDecode(t, `{"argv": ["./no-such"]}`)}, grading.Input{Dir: dir})
	require.ErrorContains(t, got.Error, "the command ./no-such does not start: ")
	require.ErrorContains(t, got.Error, "no such file or directory")
}

// A grading command that crashes is run once more, and its second answer counts.
func TestCommandIsRunAgainAfterCrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const count = `echo x >> runs; `
	got := gradeWithShellScript(t.Context(), count+`[ $(wc -l < runs) = 2 ] || kill -9 $$; echo '{"passed": true}'`, grading.Input{Dir: dir})
	require.Equal(t, "pass", resultOutcomeWithErrorKind(got), got.Reasoning)
	require.Empty(t, got.FailureKind())

	got = gradeWithShellScript(t.Context(), count+`kill -9 $$`, grading.Input{Dir: dir})
	require.Equal(t, "command_crash", got.Error.Kind)
	require.Empty(t, got.FailureKind(), "it fails on this input")
	runs, err := os.ReadFile(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(runs), "x"), "twice each")

	got = grading.Grade(t.Context(), grading.Spec{Type: "command", Config: pyvaluetest.MustDecode(t, `{"argv": ["./no-such"]}`)}, grading.Input{Dir: dir})
	require.Equal(t, grading.ErrorKindCommand, got.FailureKind())
}

// What a grader needs beside the attempt is checked before a run.
func TestCheckAvailable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "grade.py"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "grade.sh"), []byte("#!/bin/sh"), 0o700))
	in := grading.Input{Dir: dir, Environ: []string{"PATH=/usr/bin:/bin"}, Judge: func(name string) (model.Client, error) {
		if name == "anthropic/known" {
			return nil, nil
		}
		return nil, errors.New("ANTHROPIC_API_KEY is not set")
	}}
	for spec, want := range map[string]string{
		`{"argv": ["sh", "-c", "exit 1"]}`:         "",
		`{"argv": ["python3", "grade.py", "x"]}`:   "",
		`{"argv": ["./grade.sh"]}`:                 "",
		`{"argv": ["` + dir + `/grade.sh"]}`:       "",
		`{"argv": ["no-such"]}`:                    `field grader: the command no-such is not on PATH, which is "/usr/bin:/bin"`,
		`{"argv": ["./no-such"]}`:                  "field grader: the command ./no-such does not start: ",
		`{"argv": ["./grade.py"]}`:                 "permission denied",
		`{"argv": ["python3", "no-such.py", "x"]}`: "field grader: the script of the command python3 is missing: stat " + dir + "/no-such.py: no such file",
	} {
		requireUnavailable(t, grading.Spec{Type: "command", Field: "grader", Config: pyvaluetest.MustDecode(t, spec)}, in, want)
	}
	judge := `{"prompt": "x", "model": "anthropic/%s"}`
	requireUnavailable(t, grading.Spec{Type: "llm_judge", Field: "grader", Config: pyvaluetest.MustDecode(t, fmt.Sprintf(judge, "known"))}, in, "")
	requireUnavailable(t, grading.Spec{Type: "llm_judge", Field: "grader", Config: pyvaluetest.MustDecode(t, fmt.Sprintf(judge, "other"))}, in, "field grader: the model anthropic/other: ANTHROPIC_API_KEY is not set")
	requireUnavailable(t, grading.Spec{Type: "exact"}, in, "")
}

// requireUnavailable requires the error of CheckAvailable to contain a text; "": there must be none.
func requireUnavailable(t *testing.T, spec grading.Spec, in grading.Input, want string) {
	t.Helper()
	err := grading.CheckAvailable(spec, in)
	if want == "" {
		require.NoError(t, err)
		return
	}
	require.ErrorContains(t, err, want)
}

// A grading command need not read its stdin, even if that is more than a pipe holds.
func TestCommandIgnoringStdin(t *testing.T) {
	t.Parallel()
	record := json.RawMessage(`{"x": "` + strings.Repeat("x", 1<<20) + `"}`)
	got := gradeWithShellScript(t.Context(), `exec <&-; echo '{"passed": true}'`, grading.Input{Record: record})
	require.Equal(t, "pass", resultOutcomeWithErrorKind(got), got.Reasoning)
	got = gradeWithShellScript(t.Context(), `printf '{"passed": true, "metrics": {"n": %d}}' $(wc -c)`, grading.Input{Record: record})
	require.JSONEq(t, `{"n": `+strconv.Itoa(len(record))+`}`, pyvaluetest.MarshalToString(t, got.Metrics))
}

func TestCommandStdoutLimit(t *testing.T) {
	t.Parallel()
	got := gradeWithShellScript(t.Context(), `echo so >&2; trap '' PIPE; yes 2>/dev/null`, grading.Input{})
	require.Equal(t, &pyvalue.Error{Kind: "command_crash", Text: "the command sh printed more than 1 MiB on stdout; on stderr it printed last: so"}, got.Error)
	got = gradeWithShellScript(t.Context(), `printf '{"passed": true, "reasoning": "%1000000s"}' x; head -c 3000000 /dev/zero >&2`, grading.Input{})
	require.Equal(t, "pass", resultOutcomeWithErrorKind(got), "up to 1 MiB is fine, and stderr has no limit")
	got = gradeWithShellScript(t.Context(), `echo first >&2; head -c 9000 /dev/zero | tr '\0' y >&2; echo last >&2; exit 3`, grading.Input{})
	require.Less(t, len(got.Error.Text), 4200)
	require.True(t, strings.HasSuffix(got.Error.Text, "yyylast"))
	require.NotContains(t, got.Error.Text, "first")
}

// requireProcessEnded waits until the process has ended, and fails the test after a
// timeout. A zombie has ended too.
func requireProcessEnded(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, 10*time.Second, 10*time.Millisecond, "process %d lives on", pid)
}

func readPID(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return pid
}

// When a grading command ends or is stopped, its whole process group is killed, and the
// grader does not wait for processes that still hold its pipes open.
func TestCommandGroupIsKilled(t *testing.T) {
	t.Parallel()
	t.Run("it ends before its child", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		got := gradeWithShellScript(t.Context(), `sleep 3600 & echo $! > pid; echo '{"passed": true}'`, grading.Input{Dir: dir})
		require.Equal(t, "pass", resultOutcomeWithErrorKind(got), got.Reasoning)
		requireProcessEnded(t, readPID(t, filepath.Join(dir, "pid")))
	})
	t.Run("it takes too long", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		config := pyvaluetest.MustDecode(t, `{"timeout_s": 0.5, "argv": ["sh", "-c", "trap '' TERM INT; echo '{\"passed\": true}'; echo busy >&2; sleep 3600 & echo $! > pid; wait"]}`)
		got := grading.Grade(t.Context(), grading.Spec{Type: "command", Config: config}, grading.Input{Dir: dir})
		require.Equal(t, &pyvalue.Error{Kind: "command_crash", Text: "the command sh was stopped: it took longer than 500ms; on stderr it printed last: busy"}, got.Error)
		requireProcessEnded(t, readPID(t, filepath.Join(dir, "pid")))
	})
	t.Run("the run is broken off", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ctx, cancel := context.WithCancelCause(t.Context())
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "ready"), 0o600))
		go func() {
			_, _ = os.ReadFile(filepath.Join(dir, "ready")) // wait until the program runs
			cancel(errors.New("the server is stopping"))
		}()
		got := gradeWithShellScript(ctx, `sleep 3600 & echo $! > pid; : > ready; wait`, grading.Input{Dir: dir})
		require.Equal(t, &pyvalue.Error{Kind: "command", Text: "the command sh was stopped: the server is stopping"}, got.Error)
		requireProcessEnded(t, readPID(t, filepath.Join(dir, "pid")))
	})
	t.Run("its child has left the group and holds the pipes", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		got := gradeWithShellScript(t.Context(), `setsid sh -c 'echo $$ > pid; : > ready; exec sleep 3600' & while [ ! -e ready ]; do :; done; echo '{"passed": true}'`, grading.Input{Dir: dir})
		require.Equal(t, "pass", resultOutcomeWithErrorKind(got), got.Reasoning)
		require.NoError(t, syscall.Kill(readPID(t, filepath.Join(dir, "pid")), syscall.SIGKILL))
	})
}

// When the machine's memory runs out, Linux kills a grading program before other attempts.
func TestCommandIsPreferredByTheOOMKiller(t *testing.T) {
	t.Parallel()
	got := gradeWithShellScript(t.Context(), `until [ "$(cat /proc/$$/oom_score_adj)" = 900 ]; do :; done; echo '{"passed": true}'`, grading.Input{Dir: t.TempDir()})
	require.Equal(t, "pass", resultOutcomeWithErrorKind(got), got.Reasoning)
}

// No answer of a grading command passes unless a second, strict decoder agrees.
func FuzzCommandAnswer(f *testing.F) {
	for _, text := range []string{
		`{"passed": true}`, `{"passed": true, "score": 0.5, "reasoning": "x", "metrics": {"a": [1]}}`, `{"passed": false, "passed": true}`,
		`{"passed": true, "score": NaN}`, `{"passed": true}{"passed": true}`, "\ufeff{\"passed\": true}", `{"\u0070assed": true}`, `{"passed": true, "metrics": {"a": 1, "a": 2}}`,
	} {
		f.Add(text, byte(0))
		f.Add(text, byte(1))
	}
	f.Fuzz(func(t *testing.T, text string, status byte) {
		passed, score, err := grading.ParseCommandVerdict(text, int(status))
		if err != nil {
			return
		}
		said, ok := decodeWithStdlib(text, "passed", "score", "reasoning", "metrics")
		require.True(t, ok, text)
		require.Equal(t, said["passed"], passed)
		require.True(t, 0 <= score && score <= 1)
		require.True(t, status == 0 || status == 1 && !passed)
	})
}

// The folder of the case and of a grading program elsewhere may tell how to pass; of other files of the
// command line, only they themselves.
func TestTruthPathsOfCommand(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "cases")
	for _, name := range []string{"cases/check.py", "graders/check.py", "graders/check", "tools/bin/check", "data/table.csv", "real/check.py"} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	require.NoError(t, os.Symlink("../real/check.py", filepath.Join(dir, "link.py")))
	for argv, want := range map[string][]string{
		`["python3", "check.py"]`:                                    {"cases"},
		`["python3", "../graders/check.py", "../data/table.csv"]`:    {"cases", "graders", "data/table.csv"},
		`["../graders/check"]`:                                       {"cases", "graders"},
		`["../tools/bin/check"]`:                                     {"cases"},
		`["/bin/sh", "check.py"]`:                                    {"cases"},
		`["/usr/bin/env", "/bin/sh", "check.py"]`:                    {"cases", "cases/check.py"},
		`["sh", "-c", "/bin/cat x; ../tools/bin/check"]`:             {"cases"},
		`["python3", "link.py"]`:                                     {"cases", "real"},
		`["sh", "-c", "cat x | python3 '../graders/check.py'>out"]`:  {"cases", "graders"},
		`["python3", "check.py", "--expected=../data/table.csv"]`:    {"cases", "data/table.csv"},
		`["env", "X=../data/table.csv", "python3", "check.py"]`:      {"cases", "data/table.csv", "cases/check.py"},
		`["python3", "-c", "open('../graders/check.py')", "absent"]`: {"cases"},
	} {
		var words []string
		require.NoError(t, json.Unmarshal([]byte(argv), &words))
		list := pyvalue.List{}
		for _, word := range words {
			list = append(list, pyvalue.String(word))
		}
		spec := grading.Spec{Type: "command", Config: pyvalue.NewObject("argv", list)}
		got := map[string]bool{}
		for _, path := range spec.TruthPaths(dir) {
			relative, err := filepath.Rel(root, path)
			require.NoError(t, err)
			got[relative] = true
		}
		require.ElementsMatch(t, want, slices.Collect(maps.Keys(got)), argv)
	}
}
