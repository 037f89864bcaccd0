package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/kernel"
)

// loadComposeFiles loads docker-compose.yml and the files that override it, with these
// variables and profiles. An unknown key fails the test.
func loadComposeFiles(t *testing.T, env []string, overrides []string, profiles ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions(append([]string{filepath.Join(repositoryRoot, "docker-compose.yml")}, overrides...),
		cli.WithWorkingDirectory(repositoryRoot), cli.WithEnv(env), cli.WithProfiles(profiles))
	require.NoError(t, err)
	project, err := options.LoadProject(t.Context())
	require.NoError(t, err)
	return project
}

const allProfiles = "*"

func TestComposeServices(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, []string{"server"}, loadComposeFiles(t, nil, nil).ServiceNames())
	require.ElementsMatch(t, []string{"server", "batch"}, loadComposeFiles(t, nil, nil, "batch").ServiceNames())
}

// Each container has as few rights as the program needs, and a stop grace period longer
// than the longest shutdown.
func TestComposeContainersAreConfined(t *testing.T) {
	t.Parallel()
	for name, service := range loadComposeFiles(t, nil, nil, allProfiles).Services {
		require.NotNil(t, service.Build, name)
		require.NotNil(t, service.Init, name)
		require.True(t, *service.Init, name)
		require.True(t, service.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, service.CapDrop, name)
		require.Equal(t, []string{"no-new-privileges:true"}, service.SecurityOpt, name)
		require.Empty(t, service.CapAdd, name)
		require.False(t, service.Privileged, name)
		require.Empty(t, service.User, "the image sets the user")
		require.Empty(t, service.NetworkMode+service.Pid+service.Ipc, "%s shares no namespace with the machine", name)
		require.Len(t, service.Tmpfs, 1, name)
		require.Regexp(t, "^/tmp:", service.Tmpfs[0], name)
		for _, volume := range service.Volumes {
			require.True(t, volume.Type == types.VolumeTypeVolume || volume.ReadOnly, "%s mounts %s of the machine writable", name, volume.Source)
		}
		require.NotNil(t, service.StopGracePeriod, name)
		require.Greater(t, time.Duration(*service.StopGracePeriod), longestShutdownTime(t), name)
	}
}

// The image has a folder for each volume, owned by the image's user: a new volume takes
// its owner from that folder.
func TestComposeVolumes(t *testing.T) {
	t.Parallel()
	_, image := repositoryStages(t)
	runs := stageInstructions[*instructions.RunCommand](image)
	command := strings.Fields(shellCommand(runs[len(runs)-1]))
	user, _, _ := strings.Cut(lastInstruction[*instructions.UserCommand](t, image).User, ":")
	require.Subset(t, command, []string{"useradd", "--uid", user, "assay", "install", "--owner=assay"})
	for name, service := range loadComposeFiles(t, nil, nil, allProfiles).Services {
		for _, volume := range service.Volumes {
			if volume.Type == types.VolumeTypeVolume {
				require.Contains(t, command, volume.Target, name)
			}
		}
	}
}

func TestComposeServer(t *testing.T) {
	t.Parallel()
	project := loadComposeFiles(t, nil, nil, allProfiles)
	server := project.Services["server"]
	require.Len(t, server.Ports, 1)
	port := server.Ports[0]
	require.Equal(t, "127.0.0.1", port.HostIP)
	require.Equal(t, uint32(8765), port.Target)
	require.Contains(t, []string(server.Command), "0.0.0.0:8765")
	require.Contains(t, []string(server.Command), "--allow-remote")
	require.Equal(t, "1", *server.Environment["EVAL_SANDBOX"])
	require.Regexp(t, `^on-failure:\d+$`, server.Restart, "a bounded number of restarts: a server that cannot start must stop")

	health := server.HealthCheck
	require.NotNil(t, health)
	require.Contains(t, health.Test[len(health.Test)-1], `"/readyz"`)
	// Kernel and agent start at the same time; then the agent gets its init message.
	require.GreaterOrEqual(t, time.Duration(*health.StartPeriod), max(kernel.DefaultReadyTimeout, agent.DefaultReadyTimeout)+agent.DefaultReadyTimeout)

	batch := project.Services["batch"]
	require.Empty(t, batch.Ports)
	require.Nil(t, batch.HealthCheck)
	require.Equal(t, types.RestartPolicyNo, batch.Restart)
}

// Keys are passed to the containers by name, only when they are set; no file holds one.
func TestComposePassesKeys(t *testing.T) {
	t.Parallel()
	names := []string{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ASSAY_MODEL"}
	var env []string
	for _, name := range names {
		env = append(env, name+"=given "+name)
	}
	with, without := loadComposeFiles(t, env, nil, allProfiles), loadComposeFiles(t, nil, nil, allProfiles)
	for name := range with.Services {
		for _, key := range names {
			require.Equal(t, "given "+key, *with.Services[name].Environment[key])
			require.Nil(t, without.Services[name].Environment[key], "%s of %s", key, name)
		}
	}
	given := loadComposeFiles(t, []string{"ASSAY_AGENT=builtin", "CASES=docs"}, nil, allProfiles)
	require.Equal(t, "builtin", *given.Services["server"].Environment["ASSAY_AGENT"])
	require.Equal(t, "builtin", *given.Services["batch"].Environment["ASSAY_AGENT"])
	require.True(t, slices.ContainsFunc(given.Services["batch"].Volumes, func(v types.ServiceVolumeConfig) bool {
		return v.Target == "/cases" && strings.HasSuffix(v.Source, "/docs") && v.ReadOnly && !bool(v.Bind.CreateHostPath)
	}))
}

// The examples of docs/docker.md load: both override files and the derived Dockerfile.
func TestDockerDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repositoryRoot, "docs/docker.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), "docker build -t assay .\n")
	shown := map[string][]string{}
	for _, block := range regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		shown[block[1]] = append(shown[block[1]], block[2])
	}
	require.Len(t, shown["yaml"], 2)
	var servers []types.ServiceConfig
	for _, override := range shown["yaml"] {
		file := filepath.Join(t.TempDir(), "docker-compose.override.yml")
		require.NoError(t, os.WriteFile(file, []byte(override), 0o600))
		servers = append(servers, loadComposeFiles(t, nil, []string{file}, allProfiles).Services["server"])
		require.Equal(t, "python3 /agent/my_agent.py", *servers[len(servers)-1].Environment["ASSAY_AGENT"])
	}
	require.True(t, slices.ContainsFunc(servers[0].Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == "/agent" && v.ReadOnly }))
	require.Equal(t, "my_agent", filepath.Base(servers[1].Build.Context))
	require.Len(t, shown["dockerfile"], 1)
	derived := parseDockerfile(t, []byte(shown["dockerfile"][0]))[0]
	_, image := repositoryStages(t)
	require.Equal(t, "assay", derived.BaseName)
	require.Equal(t, lastInstruction[*instructions.UserCommand](t, image).User, lastInstruction[*instructions.UserCommand](t, derived).User)
}
