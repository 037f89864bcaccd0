package deploy_test

import (
	"bytes"
	"io/fs"
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

// repositoryRoot is the path of the repository's top folder, relative to the folder of this test.
const repositoryRoot = ".."

// parseDockerfile returns the stages of a Dockerfile. A warning of the builder fails
// the test.
func parseDockerfile(t *testing.T, text []byte) []instructions.Stage {
	t.Helper()
	parsed, err := parser.Parse(bytes.NewReader(text))
	require.NoError(t, err)
	require.Empty(t, parsed.Warnings)
	warn := func(rule, _, _, message string, _ []parser.Range) { t.Errorf("%s: %s", rule, message) }
	stages, _, err := instructions.Parse(parsed.AST, linter.New(&linter.Config{Warn: warn}))
	require.NoError(t, err)
	return stages
}

// repositoryStages returns the two stages of the repository's Dockerfile: the one that builds
// the program, and the image.
func repositoryStages(t *testing.T) (build, image instructions.Stage) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repositoryRoot, "Dockerfile"))
	require.NoError(t, err)
	both := parseDockerfile(t, text)
	require.Len(t, both, 2)
	return both[0], both[1]
}

// stageInstructions returns all instructions of type T in a stage.
func stageInstructions[T instructions.Command](stage instructions.Stage) (found []T) {
	for _, command := range stage.Commands {
		if c, ok := command.(T); ok {
			found = append(found, c)
		}
	}
	return found
}

// lastInstruction returns the last instruction of type T in a stage, the one that takes effect.
func lastInstruction[T instructions.Command](t *testing.T, stage instructions.Stage) T {
	t.Helper()
	found := stageInstructions[T](stage)
	require.NotEmpty(t, found)
	return found[len(found)-1]
}

func TestDockerfile(t *testing.T) {
	t.Parallel()
	build, image := repositoryStages(t)
	pinned := regexp.MustCompile(`^[a-z]+:\d+\.\d+\.\d+(-[a-z]+)+$`)
	require.Regexp(t, pinned, build.BaseName)
	require.Regexp(t, pinned, image.BaseName)
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoVersion}}")
	list.Dir = repositoryRoot
	out, err := list.Output()
	require.NoError(t, err)
	require.Contains(t, build.BaseName, "golang:"+strings.TrimSpace(string(out))+"-", "with another version the build would download a toolchain")

	user, _, _ := strings.Cut(lastInstruction[*instructions.UserCommand](t, image).User, ":")
	require.Regexp(t, `^[1-9]\d*$`, user, "a numeric user other than 0, so that an engine can check that it is not root")
	require.Equal(t, "SIGTERM", lastInstruction[*instructions.StopSignalCommand](t, image).Signal)
	require.Equal(t, []string{"assay"}, lastInstruction[*instructions.EntrypointCommand](t, image).CmdLine)
	require.Equal(t, "/data", lastInstruction[*instructions.WorkdirCommand](t, image).Path)
	require.Empty(t, stageInstructions[*instructions.HealthCheckCommand](image), "only the server has a healthcheck: it is in docker-compose.yml")
}

// No image layer may hold a key: the build gets none, and no file that may hold one is
// copied.
func TestDockerfileHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	build, image := repositoryStages(t)
	for _, stage := range []instructions.Stage{build, image} {
		require.Empty(t, stageInstructions[*instructions.ArgCommand](stage))
		require.Empty(t, stageInstructions[*instructions.AddCommand](stage), "use COPY")
		for _, env := range stageInstructions[*instructions.EnvCommand](stage) {
			for _, pair := range env.Env {
				require.NotRegexp(t, "(?i)key|token|secret|password", pair.Key)
			}
		}
	}
	for _, name := range []string{".env", ".git/config", "runs/run.json", "docker-compose.override.yml", "id_rsa"} {
		require.True(t, isDockerignored(dockerignorePatterns(t), name), name)
	}
}

// Each COPY finds its source: among the files that .dockerignore admits, or among what
// the named stage makes.
func TestDockerfileCopies(t *testing.T) {
	t.Parallel()
	build, image := repositoryStages(t)
	files := buildContextFiles(t)
	require.Contains(t, files, "go.mod")
	for _, stage := range []instructions.Stage{build, image} {
		for _, c := range stageInstructions[*instructions.CopyCommand](stage) {
			for _, source := range c.SourcePaths {
				if c.From != "" {
					require.Equal(t, build.Name, c.From)
					require.Contains(t, shellCommand(stageInstructions[*instructions.RunCommand](build)[0]), source)
					continue
				}
				require.True(t, slices.ContainsFunc(files, func(file string) bool { return isInsideFolder(source, file) }), "COPY %s copies nothing", source)
			}
		}
	}
}

// isInsideFolder returns whether a path is dir or inside of dir.
func isInsideFolder(dir, name string) bool {
	dir = path.Clean(dir)
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// shellCommand returns the text that a RUN instruction passes to the shell.
func shellCommand(run *instructions.RunCommand) string { return strings.Join(run.CmdLine, " ") }

// Each RUN instruction is valid shell and uses programs and options that exist.
// TestServicesWithoutContainerEngine runs the build command; the others need an image or a package index,
// and the log says that they were not run.
func TestDockerfileRunInstructions(t *testing.T) {
	t.Parallel()
	build, image := repositoryStages(t)
	for _, stage := range []instructions.Stage{build, image} {
		for _, run := range stageInstructions[*instructions.RunCommand](stage) {
			require.True(t, run.PrependShell, "RUN in the shell form")
			sh := exec.CommandContext(t.Context(), "sh", "-n")
			sh.Stdin = strings.NewReader(shellCommand(run))
			out, err := sh.CombinedOutput()
			require.NoError(t, err, "%s: %s", shellCommand(run), out)
			for command := range strings.SplitSeq(shellCommand(run), "&&") {
				checkCommandOptions(t, command)
			}
		}
	}
}

// checkCommandOptions fails if the help of a command's program does not list one of its long
// options. A program that is not installed is only logged.
func checkCommandOptions(t *testing.T, command string) {
	t.Helper()
	_, words, err := shellwords.ParseWithEnvs(command)
	require.NoError(t, err)
	help := append(words[:1:1], "--help")
	switch words[0] {
	case "go":
		return // TestServicesWithoutContainerEngine runs it
	case "pip":
		help = []string{"pip", words[1], "--help"}
		for _, word := range words[2:] {
			require.Regexp(t, `^(--.*|[a-z]+==[\d.]+)$`, word, "pin each package to a version")
		}
	}
	t.Logf("NOT RUN, only its options are checked: %s", command)
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Logf("NOT CHECKED: %s is not installed", words[0])
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

// dockerignorePatterns returns the patterns of .dockerignore, in order.
func dockerignorePatterns(t *testing.T) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repositoryRoot, ".dockerignore"))
	require.NoError(t, err)
	require.NotContains(t, string(text), "**", "isDockerignored does not support **")
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// isDockerignored returns whether the patterns of .dockerignore exclude a path: the last
// pattern that matches the path or a folder above it decides.
func isDockerignored(lines []string, name string) bool {
	excluded := false
	for _, line := range lines {
		pattern, negated := strings.CutPrefix(line, "!")
		for part := name; part != "."; part = path.Dir(part) {
			if fits, _ := path.Match(pattern, part); fits {
				excluded = !negated
				break
			}
		}
	}
	return excluded
}

// buildContextFiles returns the files that .dockerignore admits to a build, as paths below
// the repository's top folder.
func buildContextFiles(t *testing.T) (files []string) {
	t.Helper()
	lines := dockerignorePatterns(t)
	err := fs.WalkDir(os.DirFS(repositoryRoot), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case entry.IsDir() && isDockerignored(lines, name) && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "!"+name+"/") }):
			return filepath.SkipDir
		case !entry.IsDir() && !isDockerignored(lines, name):
			files = append(files, name)
		}
		return nil
	})
	require.NoError(t, err)
	return files
}
