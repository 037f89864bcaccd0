package attempt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"assay/internal/sandbox"
	"assay/testcases"
)

// stageFiles puts what the case brings into the sandbox: its files under their
// names, its data as data/<base name>.
func (a *attempt) stageFiles(sandbox string) error {
	for _, file := range a.job.Case.Files {
		path := filepath.Join(sandbox, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("place file %s: %w", file.Name, err)
		}
		if err := os.WriteFile(path, []byte(file.Text), 0o600); err != nil {
			return fmt.Errorf("place file %s: %w", file.Name, err)
		}
		a.countMarkedText([]byte(file.Text))
	}
	if len(a.job.Case.Data) == 0 {
		return nil
	}
	if err := a.job.Case.CheckData(); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(sandbox, dataFolderName), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("place data: %w", err)
	}
	for _, data := range a.job.Case.Data {
		if err := a.stageDataFile(sandbox, data); err != nil {
			return fmt.Errorf("place data %s: %w", data.Name, err)
		}
	}
	return nil
}

// dataFolderName is where a case's data lies in its sandbox.
const dataFolderName = "data"

// minLinkedFileBytes is the size in bytes from which on data is not copied, if a fence
// sees to it that the kernel cannot change it.
const minLinkedFileBytes = 64 << 20

// isLinked tells whether data is linked to instead of copied.
func (a *attempt) isLinked(data testcases.DataFile) bool {
	info, err := os.Stat(data.Path)
	return err == nil && info.Size() > minLinkedFileBytes && a.cfg.Kernel.Sandbox.CanEnforce(sandbox.EnforcesWrite)
}

// linkedPaths returns the data that is linked to, which the kernel must be let read.
func (a *attempt) linkedPaths() []string {
	var paths []string
	for _, data := range a.job.Case.Data {
		if a.isLinked(data) {
			paths = append(paths, data.Path)
		}
	}
	return paths
}

// stageDataFile links to a large file, and copies others; where the file system can,
// the copy shares its blocks, as io.Copy between files asks the kernel to do.
func (a *attempt) stageDataFile(sandbox string, data testcases.DataFile) error {
	from, err := os.Open(data.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	if a.isLinked(data) {
		marked, err := streamContains(from, []byte(CompletionMarker))
		if marked {
			a.markedFiles++
		}
		return errors.Join(err, os.Symlink(data.Path, dataFilePath(sandbox, data)))
	}
	to, err := os.OpenFile(dataFilePath(sandbox, data), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return errors.Join(err, to.Close())
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return errors.Join(err, to.Close())
	}
	marked, err := streamContains(from, []byte(CompletionMarker))
	if marked {
		a.markedFiles++
	}
	return errors.Join(err, to.Close())
}

func dataFilePath(sandbox string, data testcases.DataFile) string {
	return filepath.Join(sandbox, dataFolderName, data.Base)
}

// countMarkedText counts a file of the case that has the marker.
func (a *attempt) countMarkedText(text []byte) {
	if bytes.Contains(text, []byte(CompletionMarker)) {
		a.markedFiles++
	}
}

// streamContains looks for what in a file, however large.
func streamContains(in io.Reader, what []byte) (bool, error) {
	buf := make([]byte, 256<<10)
	kept := 0
	for {
		n, err := in.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], what) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		end := kept + n
		kept = min(end, len(what)-1)
		copy(buf, buf[end-kept:end])
	}
}

// writeSolution writes the case's oracle, for an agent that plays it, to a file
// that only we and the agent may read, outside of every sandbox.
func (a *attempt) writeSolution() error {
	if a.job.Case.Oracle == nil || a.cfg.SolutionsDir == "" {
		return nil
	}
	file, err := os.CreateTemp(a.cfg.SolutionsDir, "solution-*.json") // 0600
	if err != nil {
		return fmt.Errorf("write the oracle: %w", err)
	}
	a.solutionPath = file.Name()
	_, err = file.Write(a.job.Case.Oracle)
	return errors.Join(err, file.Close())
}

func (a *attempt) removeSolution() {
	if a.solutionPath == "" {
		return
	}
	if err := os.Remove(a.solutionPath); err != nil {
		a.log.Warn("the file with the oracle was not removed", "error", err)
	}
}
