package ticks

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

	"assay/agent/builtin/render"
)

const (
	gitTimeout        = 10 * time.Second       // of each command
	gitKillGrace      = time.Second            // for the output pipes of a killed command
	commitRetryDelay  = 200 * time.Millisecond // before a commit is tried again
	maxGitOutputBytes = 2 << 10                // of the output in an error
)

// gitRepository commits the files of a store with git. It ignores the user's settings for
// git: no hooks, no signatures, a fixed author.
type gitRepository struct {
	git string // path of the program
	dir string
}

// openGitRepository returns the repository in a folder. It creates one in a folder that is
// empty or has only files of a store, also if the folder lies in another repository. A
// folder with other files and without its own repository is an error. It returns nil
// and no error if git is not installed.
func openGitRepository(dir string) (*gitRepository, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // without git nothing is committed
	}
	r := &gitRepository{git: git, dir: dir}
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
		return nil, fmt.Errorf("%s holds other files and is not itself a git repository", dir)
	}
	// An existing repository stays as it is, and a half created one is completed.
	if err := r.runGit(context.Background(), time.Time{}, "init", "--quiet"); err != nil {
		return nil, err
	}
	return r, nil
}

// commit commits the files of the store as changed at that time. It is no error if nothing
// has changed. If another process holds git's lock, commit tries once more.
func (r *gitRepository) commit(ctx context.Context, message string, at time.Time) error {
	ctx = context.WithoutCancel(ctx) // a commit is short, and a half finished one would block the next
	err := r.commitOnce(ctx, message, at)
	if err == nil || !strings.Contains(err.Error(), "lock") {
		return err
	}
	<-time.After(commitRetryDelay)
	return r.commitOnce(ctx, message, at)
}

// commitOnce tries to commit the files of the store that exist.
func (r *gitRepository) commitOnce(ctx context.Context, message string, at time.Time) error {
	files := slices.DeleteFunc([]string{stateFile, monologueFile}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(r.dir, name))
		return err != nil
	})
	if len(files) == 0 {
		return nil
	}
	err := r.runGit(ctx, at, append([]string{"add", "--"}, files...)...)
	if err == nil {
		err = r.runGit(ctx, at, append([]string{"commit", "--quiet", "--no-verify", "--cleanup=whitespace", "--message=" + message, "--"}, files...)...)
	}
	if err != nil && isNothingToCommit(err.Error()) {
		return nil // another process may have committed it
	}
	return err
}

// isNothingToCommit reports whether git failed because nothing has changed. Other failures
// have the same exit status.
func isNothingToCommit(text string) bool {
	return slices.ContainsFunc([]string{"nothing to commit", "nothing added to commit", "no changes added to commit"}, func(sentence string) bool {
		return strings.Contains(text, sentence)
	})
}

// runGit runs a git command, for at most 10 s, with the commit time at. The error contains
// git's output on one line.
func (r *gitRepository) runGit(ctx context.Context, at time.Time, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	settings := []string{
		"-c", "user.name=assay", "-c", "user.email=assay@localhost", "-c", "commit.gpgSign=false",
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "init.defaultBranch=main",
	}
	cmd := exec.CommandContext(ctx, r.git, append(settings, args...)...)
	cmd.Dir, cmd.WaitDelay = r.dir, gitKillGrace
	cmd.Env = append(slices.DeleteFunc(cmd.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }),
		"GIT_DIR="+filepath.Join(r.dir, ".git"), "GIT_WORK_TREE="+r.dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE="+at.Format(time.RFC3339), "GIT_COMMITTER_DATE="+at.Format(time.RFC3339), "LC_ALL=C")
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, render.ClipToOneLine(string(output), maxGitOutputBytes))
	}
	return nil
}
