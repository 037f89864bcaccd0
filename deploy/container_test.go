package deploy_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestServicesWithoutContainerEngine follows Dockerfile and docker-compose.yml without a container
// engine: it builds the program with the Dockerfile's RUN line from the files that
// .dockerignore admits, and runs it with each service's command.
func TestServicesWithoutContainerEngine(t *testing.T) {
	t.Parallel()
	program := buildProgram(t)
	for name, service := range loadComposeFiles(t, nil, nil, allProfiles).Services {
		t.Run(name+"/names", func(t *testing.T) {
			t.Parallel()
			checkServiceNames(t, newServiceProcess(t, program, service))
		})
	}
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		checkServerService(t, newServiceProcess(t, program, loadComposeFiles(t, nil, nil).Services["server"]))
	})
	t.Run("batch", func(t *testing.T) {
		t.Parallel()
		checkBatchService(t, newServiceProcess(t, program, loadComposeFiles(t, nil, nil, "batch").Services["batch"]))
	})
}

// buildProgram runs the Dockerfile's build command in a temporary folder and returns
// the path of the program.
func buildProgram(t *testing.T) string {
	t.Helper()
	build, _ := repositoryStages(t)
	src, out := t.TempDir(), t.TempDir()
	for _, name := range buildContextFiles(t) {
		text, err := os.ReadFile(filepath.Join(repositoryRoot, name))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(src, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(src, name), text, 0o600))
	}
	runs := stageInstructions[*instructions.RunCommand](build)
	require.Len(t, runs, 1)
	sh := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(shellCommand(runs[0]), "/out/", out+"/"))
	sh.Dir, sh.Env = src, append(os.Environ(), "GOPROXY=off")
	text, err := sh.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return filepath.Join(out, "assay")
}

// serviceProcess runs a compose service as a plain process: each mount point of the
// service is replaced by a folder of the test.
type serviceProcess struct {
	program string
	service types.ServiceConfig
	env     map[string]string // variables of the image and the service
	workdir string            // the image's working folder, as the image names it
	folders map[string]string // mount point in the image -> folder on this machine
}

func newServiceProcess(t *testing.T, program string, service types.ServiceConfig) *serviceProcess {
	t.Helper()
	_, image := repositoryStages(t)
	c := &serviceProcess{program: program, service: service, env: map[string]string{}, folders: map[string]string{}}
	c.workdir = lastInstruction[*instructions.WorkdirCommand](t, image).Path
	for _, command := range stageInstructions[*instructions.EnvCommand](image) {
		for _, pair := range command.Env {
			c.env[pair.Key] = pair.Value
		}
	}
	for name, value := range service.Environment {
		if value != nil {
			c.env[name] = *value
		}
	}
	for _, volume := range service.Volumes {
		c.folders[volume.Target] = t.TempDir()
		if volume.Type == types.VolumeTypeBind {
			c.folders[volume.Target] = volume.Source
		}
	}
	return c
}

// toHostPath replaces a path in the image by the test's folder for it, and the published
// address by a free port on loopback.
func (c *serviceProcess) toHostPath(text string) string {
	for inside, outside := range c.folders {
		if isInsideFolder(inside, text) {
			return outside + strings.TrimPrefix(text, inside)
		}
	}
	return strings.Replace(text, "0.0.0.0:8765", "127.0.0.1:0", 1)
}

// command returns the service's command with more arguments appended.
func (c *serviceProcess) command(ctx context.Context, more ...string) *exec.Cmd {
	var words []string
	for _, word := range c.service.Command {
		words = append(words, c.toHostPath(word))
	}
	cmd := exec.CommandContext(ctx, c.program, append(words, more...)...)
	cmd.Dir, cmd.Env = c.toHostPath(c.workdir), []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+c.toHostPath(value))
	}
	return cmd
}

// checkServiceNames fails if the service uses a flag that the program's help does not list,
// a variable that the program's source does not read, a mount that no path uses, or an
// absolute path that no mount covers.
func checkServiceNames(t *testing.T, c *serviceProcess) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), c.program, c.service.Command[0], "--help-all").Output()
	require.NoError(t, err)
	help := string(out)
	hasFlag := func(name string) bool { return regexp.MustCompile(`(?m)^ +(-\w, )?--` + name + `\b`).MatchString(help) }
	paths := []string{path.Join(c.workdir, regexp.MustCompile(`\(default "?(runs)\b`).FindStringSubmatch(help)[1])}
	for _, word := range c.service.Command[1:] {
		if name, ok := strings.CutPrefix(word, "--"); ok {
			require.True(t, hasFlag(name), "assay %s has no flag --%s", c.service.Command[0], name)
		}
		paths = append(paths, word)
	}
	source, err := filepath.Glob(filepath.Join(repositoryRoot, "cmd/assay/*.go"))
	require.NoError(t, err)
	for name := range c.service.Environment {
		flag, ok := strings.CutPrefix(name, "ASSAY_")
		ok = ok && hasFlag(strings.ToLower(strings.ReplaceAll(flag, "_", "-")))
		require.True(t, ok || slices.ContainsFunc(source, func(file string) bool { return sourceReadsVariable(t, file, name) }), "the program does not read the variable %s", name)
	}
	for name, value := range c.env {
		require.True(t, strings.HasPrefix(name, "ASSAY_") || slices.ContainsFunc(source, func(file string) bool { return sourceReadsVariable(t, file, name) }), "the program does not read the variable %s", name)
		paths = append(paths, value)
	}
	for mount := range c.folders {
		require.True(t, slices.ContainsFunc(paths, func(p string) bool { return isInsideFolder(mount, p) }), "no path is below the mount %s", mount)
	}
	for _, p := range paths {
		require.True(t, !path.IsAbs(p) || c.toHostPath(p) != p, "%s is on no volume", p)
	}
}

// sourceReadsVariable returns whether a source file of the program reads an environment
// variable with getenv.
func sourceReadsVariable(t *testing.T, file, variable string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return bytes.Contains(text, []byte(`getenv("`+variable+`")`))
}

// checkServerService starts the server, waits until its healthcheck passes, sends SIGTERM and
// checks that it ends in the grace period and leaves no sandbox behind.
func checkServerService(t *testing.T, c *serviceProcess) {
	t.Helper()
	grace := time.Duration(*c.service.StopGracePeriod)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*c.service.HealthCheck.StartPeriod))
	defer cancel()
	cmd := c.command(t.Context())
	output := &serverOutput{address: make(chan string, 1)}
	cmd.Stderr = output
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var address string
	select {
	case address = <-output.address:
	case err := <-ended:
		require.Fail(t, "the server ended at once", "%v: %s", err, output.text.String())
	}
	for !isHealthy(t, c.service, address) {
		require.NoError(t, ctx.Err(), "the healthcheck never passed")
	}
	began := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, <-ended, "%s", output.text.String())
	require.Less(t, time.Since(began), grace)
	require.False(t, isHealthy(t, c.service, address), "the healthcheck fails once the server has ended")

	left, err := os.ReadDir(c.folders["/sandboxes"])
	require.NoError(t, err)
	require.Empty(t, left)
	traces, err := filepath.Glob(c.toHostPath("/data/sessions/*.trace.jsonl"))
	require.NoError(t, err)
	require.Len(t, traces, 1)

	unready := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer unready.Close()
	require.False(t, isHealthy(t, c.service, unready.Listener.Addr().String()))
}

// serverOutput collects the server's stderr and sends the address it serves at, once.
type serverOutput struct {
	text    bytes.Buffer
	address chan string
	found   bool
}

func (a *serverOutput) Write(text []byte) (int, error) {
	a.text.Write(text)
	if match := regexp.MustCompile(`serving at http://(\S+)\n`).FindSubmatch(a.text.Bytes()); match != nil && !a.found {
		a.found = true
		a.address <- string(match[1])
	}
	return len(text), nil
}

// isHealthy runs the service's healthcheck against the server at an address.
func isHealthy(t *testing.T, service types.ServiceConfig, address string) bool {
	t.Helper()
	test := service.HealthCheck.Test
	require.Equal(t, "CMD", test[0])
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	program := test[len(test)-1]
	require.Equal(t, 1, strings.Count(program, "8765"))
	words := append(slices.Clone(test[1:len(test)-1]), strings.Replace(program, "8765", port, 1))
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	err = cmd.Run()
	require.Contains(t, []int{0, 1}, cmd.ProcessState.ExitCode(), "a healthcheck exits with 0 or 1")
	return err == nil
}

// checkBatchService runs one case of the folder that the batch service mounts by default.
func checkBatchService(t *testing.T, c *serviceProcess) {
	t.Helper()
	cmd := c.command(t.Context(), "--id", "word-count", "--quiet")
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Regexp(t, `^PASS 1/1 .* runs/\S+\n$`, string(out))
	runs, err := filepath.Glob(c.toHostPath("/data/runs/*/attempts.jsonl"))
	require.NoError(t, err)
	require.Len(t, runs, 1)
}
