package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	gitDeadline   = 10 * time.Second       // of each command
	gitPause      = 200 * time.Millisecond // before a commit is tried again
	mostGitOutput = 2 << 10                // bytes that are told of a failure
)

// repository is a store under version control. Nothing of the user's settings for
// git counts in it: no hooks, no signatures, a name of its own.
type repository struct{ git, dir string }

// openRepository returns the repository that a folder is. A folder that holds
// nothing, or only our files, is made one, be it in another or not; one that holds
// other things is left alone, which is an error. Without git it is nil.
func openRepository(dir string) (*repository, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // there is no git, and so nothing to do
	}
	r := &repository{git: git, dir: dir}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	foreign, ours := false, false
	for _, entry := range entries {
		ours = ours || entry.Name() == ".git"
		foreign = foreign || !strings.HasPrefix(strings.TrimPrefix(entry.Name(), "."), stateFile) && entry.Name() != monologueFile
	}
	if foreign && !ours {
		return nil, fmt.Errorf("%s holds other files and is no git repository of its own", dir)
	}
	// One that is there already stays as it is, and one that was left half made is
	// made whole.
	if err := r.run(context.Background(), time.Time{}, "init", "--quiet"); err != nil {
		return nil, err
	}
	return r, nil
}

// commit commits the files of the store. Nothing to commit is no error. Where
// another process commits at the same moment it is tried once more.
func (r *repository) commit(ctx context.Context, message string, at time.Time) error {
	ctx = context.WithoutCancel(ctx) // a commit is short, and half of one in the way of the next
	err := r.record(ctx, message, at)
	if err == nil || !strings.Contains(err.Error(), "lock") {
		return err
	}
	if err := sleep(ctx, gitPause); err != nil {
		return err
	}
	return r.record(ctx, message, at)
}

func (r *repository) record(ctx context.Context, message string, at time.Time) error {
	files := slices.DeleteFunc([]string{stateFile, monologueFile}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(r.dir, name))
		return err != nil
	})
	if len(files) == 0 {
		return nil
	}
	err := r.run(ctx, at, append([]string{"add", "--"}, files...)...)
	if err == nil {
		err = r.run(ctx, at, append([]string{"commit", "--quiet", "--no-verify", "--cleanup=whitespace", "--message=" + message, "--"}, files...)...)
	}
	if err != nil && saysNothingToCommit(err.Error()) {
		return nil // somebody else may have committed it
	}
	return err
}

// saysNothingToCommit tells that refusal of git from others, which have the same
// exit status.
func saysNothingToCommit(text string) bool {
	return slices.ContainsFunc([]string{"nothing to commit", "nothing added to commit", "no changes added to commit"}, func(sentence string) bool {
		return strings.Contains(text, sentence)
	})
}

// run runs git. The error says what git has said.
func (r *repository) run(ctx context.Context, at time.Time, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitDeadline)
	defer cancel()
	settings := []string{
		"-c", "user.name=assay", "-c", "user.email=assay@localhost", "-c", "commit.gpgSign=false",
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "init.defaultBranch=main",
	}
	cmd := exec.CommandContext(ctx, r.git, append(settings, args...)...)
	cmd.Dir, cmd.WaitDelay = r.dir, time.Second
	cmd.Env = append(slices.DeleteFunc(cmd.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }),
		"GIT_DIR="+filepath.Join(r.dir, ".git"), "GIT_WORK_TREE="+r.dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE="+at.Format(time.RFC3339), "GIT_COMMITTER_DATE="+at.Format(time.RFC3339), "LC_ALL=C")
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, oneLine(string(output), mostGitOutput))
	}
	return nil
}
