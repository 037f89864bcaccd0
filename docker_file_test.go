package assay_test

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/stretchr/testify/require"
)

// dockerfile reads a Dockerfile, stage by stage. What the builder would warn of
// is a failure.
func dockerfile(t *testing.T, text []byte) []instructions.Stage {
	t.Helper()
	parsed, err := parser.Parse(bytes.NewReader(text))
	require.NoError(t, err)
	require.Empty(t, parsed.Warnings)
	warn := func(rule, _, _, message string, _ []parser.Range) { t.Errorf("%s: %s", rule, message) }
	stages, _, err := instructions.Parse(parsed.AST, linter.New(&linter.Config{Warn: warn}))
	require.NoError(t, err)
	return stages
}

// stages are those of our Dockerfile: what builds, and the image.
func stages(t *testing.T) (build, image instructions.Stage) {
	t.Helper()
	text, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	both := dockerfile(t, text)
	require.Len(t, both, 2)
	return both[0], both[1]
}

// commands are the instructions of one kind in a stage.
func commands[T instructions.Command](stage instructions.Stage) (found []T) {
	for _, command := range stage.Commands {
		if c, ok := command.(T); ok {
			found = append(found, c)
		}
	}
	return found
}

// last is the instruction of its kind that counts.
func last[T instructions.Command](t *testing.T, stage instructions.Stage) T {
	t.Helper()
	found := commands[T](stage)
	require.NotEmpty(t, found)
	return found[len(found)-1]
}

func TestDockerfile(t *testing.T) {
	t.Parallel()
	build, image := stages(t)
	pinned := regexp.MustCompile(`^[a-z]+:\d+\.\d+\.\d+(-[a-z]+)+$`)
	require.Regexp(t, pinned, build.BaseName)
	require.Regexp(t, pinned, image.BaseName)
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoVersion}}").Output()
	require.NoError(t, err)
	require.Contains(t, build.BaseName, "golang:"+strings.TrimSpace(string(out))+"-", "the image's toolchain does not fetch another")

	user, _, _ := strings.Cut(last[*instructions.UserCommand](t, image).User, ":")
	require.Regexp(t, `^[1-9]\d*$`, user, "a number that is not root's can be checked by whoever runs the image")
	require.Equal(t, "SIGTERM", last[*instructions.StopSignalCommand](t, image).Signal)
	require.Equal(t, []string{"assay"}, last[*instructions.EntrypointCommand](t, image).CmdLine)
	require.Equal(t, "/data", last[*instructions.WorkdirCommand](t, image).Path)
	require.Empty(t, commands[*instructions.HealthCheckCommand](image), "only the server has health; see docker-compose.yml")
}

// No key may be in a layer: none is given to the build, and nothing is copied
// that may hold one.
func TestDockerfileHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	build, image := stages(t)
	for _, stage := range []instructions.Stage{build, image} {
		require.Empty(t, commands[*instructions.ArgCommand](stage))
		require.Empty(t, commands[*instructions.AddCommand](stage), "COPY does it")
		for _, env := range commands[*instructions.EnvCommand](stage) {
			for _, pair := range env.Env {
				require.NotRegexp(t, "(?i)key|token|secret|password", pair.Key)
			}
		}
	}
	for _, name := range []string{".env", ".git/config", "runs/run.json", "docker-compose.override.yml", "id_rsa"} {
		require.True(t, ignored(ignoreLines(t), name), name)
	}
}

// Each COPY has something to copy: from the build context what .dockerignore
// lets through, from a stage what a line of it makes.
func TestDockerfileCopies(t *testing.T) {
	t.Parallel()
	build, image := stages(t)
	files := buildContext(t)
	require.Contains(t, files, "go.mod")
	for _, stage := range []instructions.Stage{build, image} {
		for _, c := range commands[*instructions.CopyCommand](stage) {
			for _, source := range c.SourcePaths {
				if c.From != "" {
					require.Equal(t, build.Name, c.From)
					require.Contains(t, script(commands[*instructions.RunCommand](build)[0]), source)
					continue
				}
				require.True(t, slices.ContainsFunc(files, func(file string) bool { return below(source, file) }), "COPY %s copies nothing", source)
			}
		}
	}
}

// below tells whether a path is dir, or in it.
func below(dir, name string) bool {
	dir = path.Clean(dir)
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// script is what a RUN line gives to the shell.
func script(run *instructions.RunCommand) string { return strings.Join(run.CmdLine, " ") }

// Each RUN line is a shell's, and names programs and options that there are. The
// line that builds is run by TestContainers; what the others do needs an image
// or a package index, and is said here to be untried.
func TestDockerfileRuns(t *testing.T) {
	t.Parallel()
	build, image := stages(t)
	for _, stage := range []instructions.Stage{build, image} {
		for _, run := range commands[*instructions.RunCommand](stage) {
			require.True(t, run.PrependShell, "the shell form")
			sh := exec.CommandContext(t.Context(), "sh", "-n")
			sh.Stdin = strings.NewReader(script(run))
			out, err := sh.CombinedOutput()
			require.NoError(t, err, "%s: %s", script(run), out)
			for command := range strings.SplitSeq(script(run), "&&") {
				checkCommand(t, command)
			}
		}
	}
}

// checkCommand looks for the program of a command and its long options.
func checkCommand(t *testing.T, command string) {
	t.Helper()
	_, words, err := shellwords.ParseWithEnvs(command)
	require.NoError(t, err)
	help := append(words[:1:1], "--help")
	switch words[0] {
	case "go":
		return // TestContainers runs it
	case "pip":
		help = []string{"pip", words[1], "--help"}
		for _, word := range words[2:] {
			require.Regexp(t, `^(--.*|[a-z]+==[\d.]+)$`, word, "a package has a version")
		}
	}
	t.Logf("NOT TRIED HERE, only looked at: %s", command)
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Logf("NOT EVEN THAT: there is no %s here", words[0])
		return
	}
	text, err := exec.CommandContext(t.Context(), help[0], help[1:]...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	for _, word := range words[1:] {
		if option, _, _ := strings.Cut(word, "="); strings.HasPrefix(option, "--") {
			require.Regexp(t, regexp.QuoteMeta(option)+`\b`, string(text), "%s has no such option", words[0])
		}
	}
}

// ignoreLines are those of .dockerignore.
func ignoreLines(t *testing.T) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(".dockerignore")
	require.NoError(t, err)
	require.NotContains(t, string(text), "**", "ignored does not understand it")
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// ignored tells whether the lines of .dockerignore keep a path out of the build:
// the last that fits it, or a folder above it, decides.
func ignored(lines []string, name string) bool {
	out := false
	for _, line := range lines {
		pattern, back := strings.CutPrefix(line, "!")
		for part := name; part != "."; part = path.Dir(part) {
			if fits, _ := path.Match(pattern, part); fits {
				out = !back
				break
			}
		}
	}
	return out
}

// buildContext are the files that a build gets.
func buildContext(t *testing.T) (files []string) {
	t.Helper()
	lines := ignoreLines(t)
	err := filepath.WalkDir(".", func(name string, entry os.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case entry.IsDir() && ignored(lines, name) && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "!"+name+"/") }):
			return filepath.SkipDir
		case !entry.IsDir() && !ignored(lines, name):
			files = append(files, name)
		}
		return nil
	})
	require.NoError(t, err)
	return files
}
