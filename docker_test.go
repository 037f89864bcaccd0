package assay_test

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

// TestContainers does, without an engine, what the Dockerfile and
// docker-compose.yml say: it builds the program by the Dockerfile's line, out of
// what .dockerignore lets through, and runs it by the services' commands.
func TestContainers(t *testing.T) {
	t.Parallel()
	program := built(t)
	for name, service := range composed(t, nil, nil, everyProfile).Services {
		t.Run(name+"/names", func(t *testing.T) {
			t.Parallel()
			checkNames(t, newContainer(t, program, service))
		})
	}
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		testServer(t, newContainer(t, program, composed(t, nil, nil).Services["server"]))
	})
	t.Run("batch", func(t *testing.T) {
		t.Parallel()
		testBatch(t, newContainer(t, program, composed(t, nil, nil, "batch").Services["batch"]))
	})
}

// built runs the line of the Dockerfile that builds, and returns the program.
func built(t *testing.T) string {
	t.Helper()
	build, _ := stages(t)
	src, out := t.TempDir(), t.TempDir()
	for _, name := range buildContext(t) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(src, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(src, name), text, 0o600))
	}
	runs := commands[*instructions.RunCommand](build)
	require.Len(t, runs, 1)
	sh := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(script(runs[0]), "/out/", out+"/"))
	sh.Dir, sh.Env = src, append(os.Environ(), "GOPROXY=off")
	text, err := sh.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return filepath.Join(out, "assay")
}

// container is a service as it can be run without an engine: its folders stand
// for folders of the test.
type container struct {
	program string
	service types.ServiceConfig
	env     map[string]string // of image and service
	workdir string            // as the image names it
	folders map[string]string // by mount point
}

func newContainer(t *testing.T, program string, service types.ServiceConfig) *container {
	t.Helper()
	_, image := stages(t)
	c := &container{program: program, service: service, env: map[string]string{}, folders: map[string]string{}}
	c.workdir = last[*instructions.WorkdirCommand](t, image).Path
	for _, command := range commands[*instructions.EnvCommand](image) {
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

// here says in names of the test what the service says in names of the image.
func (c *container) here(text string) string {
	for inside, outside := range c.folders {
		if below(inside, text) {
			return outside + strings.TrimPrefix(text, inside)
		}
	}
	return strings.Replace(text, "0.0.0.0:8765", "127.0.0.1:0", 1)
}

// command is the service's, with more arguments behind it.
func (c *container) command(ctx context.Context, more ...string) *exec.Cmd {
	var words []string
	for _, word := range c.service.Command {
		words = append(words, c.here(word))
	}
	cmd := exec.CommandContext(ctx, c.program, append(words, more...)...)
	cmd.Dir, cmd.Env = c.here(c.workdir), []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+c.here(value))
	}
	return cmd
}

// checkNames asks the program for the flags, and its source for the variables,
// that the service names; and holds mounts and paths against each other.
func checkNames(t *testing.T, c *container) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), c.program, c.service.Command[0], "-h").Output()
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
	source, err := filepath.Glob("cmd/assay/*.go")
	require.NoError(t, err)
	for name := range c.service.Environment {
		flag, ok := strings.CutPrefix(name, "ASSAY_")
		ok = ok && hasFlag(strings.ToLower(strings.ReplaceAll(flag, "_", "-")))
		require.True(t, ok || slices.ContainsFunc(source, func(file string) bool { return reads(t, file, name) }), "nobody reads %s", name)
	}
	for name, value := range c.env {
		require.True(t, strings.HasPrefix(name, "ASSAY_") || slices.ContainsFunc(source, func(file string) bool { return reads(t, file, name) }), "nobody reads %s", name)
		paths = append(paths, value)
	}
	for mount := range c.folders {
		require.True(t, slices.ContainsFunc(paths, func(p string) bool { return below(mount, p) }), "nobody uses the mount %s", mount)
	}
	for _, p := range paths {
		require.True(t, !path.IsAbs(p) || c.here(p) != p, "%s is on no volume", p)
	}
}

// reads tells whether a file of the program reads a variable.
func reads(t *testing.T, file, variable string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return bytes.Contains(text, []byte(`getenv("`+variable+`")`))
}

// testServer brings the server up until its healthcheck is content, and down.
func testServer(t *testing.T, c *container) {
	t.Helper()
	grace := time.Duration(*c.service.StopGracePeriod)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*c.service.HealthCheck.StartPeriod))
	defer cancel()
	cmd := c.command(t.Context())
	says := &announcement{address: make(chan string, 1)}
	cmd.Stderr = says
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var address string
	select {
	case address = <-says.address:
	case err := <-ended:
		require.Fail(t, "the server ended at once", "%v: %s", err, says.text.String())
	}
	for !healthy(t, c.service, address) {
		require.NoError(t, ctx.Err(), "it never became healthy")
	}
	began := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, <-ended, "%s", says.text.String())
	require.Less(t, time.Since(began), grace)
	require.False(t, healthy(t, c.service, address), "nobody listens any more")

	left, err := os.ReadDir(c.folders["/sandboxes"])
	require.NoError(t, err)
	require.Empty(t, left)
	traces, err := filepath.Glob(c.here("/data/sessions/*.trace.jsonl"))
	require.NoError(t, err)
	require.Len(t, traces, 1)

	unready := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer unready.Close()
	require.False(t, healthy(t, c.service, unready.Listener.Addr().String()))
}

// announcement is a stderr in which the server says where it serves.
type announcement struct {
	text    bytes.Buffer
	address chan string // gets the address, once
	found   bool
}

func (a *announcement) Write(text []byte) (int, error) {
	a.text.Write(text)
	if at := regexp.MustCompile(`serving at http://(\S+)\n`).FindSubmatch(a.text.Bytes()); at != nil && !a.found {
		a.found = true
		a.address <- string(at[1])
	}
	return len(text), nil
}

// healthy runs the healthcheck against the server at an address.
func healthy(t *testing.T, service types.ServiceConfig, address string) bool {
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
	require.Contains(t, []int{0, 1}, cmd.ProcessState.ExitCode(), "an engine knows healthy and unhealthy")
	return err == nil
}

// testBatch runs one of the cases that are mounted by default.
func testBatch(t *testing.T, c *container) {
	t.Helper()
	cmd := c.command(t.Context(), "--id", "word-count", "--quiet")
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Regexp(t, `^PASS 1/1 .* runs/\S+\n$`, string(out))
	runs, err := filepath.Glob(c.here("/data/runs/*/attempts.jsonl"))
	require.NoError(t, err)
	require.Len(t, runs, 1)
}
