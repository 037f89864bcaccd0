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

// stageFiles puts the case's files into a new working folder: its files under their names, its
// data files as data/<base name>. It counts the files that contain the completion marker. It
// fails if a file cannot be read or written, or a data file does not exist.
func (a *attempt) stageFiles(workdir string) error {
	for _, file := range a.job.Case.Files {
		path := filepath.Join(workdir, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("write file %s: %w", file.Name, err)
		}
		if err := os.WriteFile(path, []byte(file.Text), 0o600); err != nil {
			return fmt.Errorf("write file %s: %w", file.Name, err)
		}
		a.countMarkerInFile([]byte(file.Text))
	}
	if len(a.job.Case.Data) == 0 {
		return nil
	}
	if err := a.job.Case.CheckDataFiles(); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(workdir, dataFolderName), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make the folder for data: %w", err)
	}
	for _, data := range a.job.Case.Data {
		if err := a.stageDataFile(workdir, data); err != nil {
			return fmt.Errorf("copy data %s: %w", data.Name, err)
		}
	}
	return nil
}

// dataFolderName is the name of the subfolder of the working folder that has the case's data
// files.
const dataFolderName = "data"

// minLinkedFileBytes is the size above which a data file is put into the working folder as a
// symbolic link instead of a copy, if the sandbox prevents the kernel from changing it.
const minLinkedFileBytes = 64 << 20

// isDataFileLinked reports whether a data file is put into the working folder as a link instead
// of a copy: it is larger than minLinkedFileBytes, and the sandbox can protect it from writing.
func (a *attempt) isDataFileLinked(data testcases.DataFile) bool {
	info, err := os.Stat(data.Path)
	return err == nil && info.Size() > minLinkedFileBytes && a.cfg.Kernel.Sandbox.CanEnforce(sandbox.EnforcesWrite)
}

// linkedDataFiles returns the original paths of the data files that are linked into the working
// folder. The kernel's sandbox must allow reading them.
func (a *attempt) linkedDataFiles() []string {
	var paths []string
	for _, data := range a.job.Case.Data {
		if a.isDataFileLinked(data) {
			paths = append(paths, data.Path)
		}
	}
	return paths
}

// stageDataFile puts one data file into the working folder, as a link or a copy, and counts it
// if it has the completion marker. On file systems that support it the copy shares the blocks
// of the original, because io.Copy between files uses copy_file_range. It fails if the file
// cannot be read or written.
func (a *attempt) stageDataFile(workdir string, data testcases.DataFile) error {
	from, err := os.Open(data.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	if a.isDataFileLinked(data) {
		isMarked, err := streamContains(from, []byte(CompletionMarker))
		if isMarked {
			a.markedFiles++
		}
		return errors.Join(err, os.Symlink(data.Path, dataFilePath(workdir, data)))
	}
	to, err := os.OpenFile(dataFilePath(workdir, data), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return errors.Join(err, to.Close())
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return errors.Join(err, to.Close())
	}
	isMarked, err := streamContains(from, []byte(CompletionMarker))
	if isMarked {
		a.markedFiles++
	}
	return errors.Join(err, to.Close())
}

// dataFilePath returns the path that a data file has in the working folder.
func dataFilePath(workdir string, data testcases.DataFile) string {
	return filepath.Join(workdir, dataFolderName, data.Base)
}

// countMarkerInFile counts a file of the case as marked if its text contains the completion
// marker.
func (a *attempt) countMarkerInFile(text []byte) {
	if bytes.Contains(text, []byte(CompletionMarker)) {
		a.markedFiles++
	}
}

// streamContains reports whether the bytes read from in, of any length, contain what. It fails
// if reading fails.
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

// writeSolution writes the case's oracle to a temporary file in Config.SolutionsDir for an
// agent that replays it. Only this user can read the file, and it is outside of every working
// folder. It does nothing if there is no oracle or no SolutionsDir, and fails if the file
// cannot be written.
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

// removeSolution removes the file that writeSolution has written, if there is one. A failure is
// only logged.
func (a *attempt) removeSolution() {
	if a.solutionPath == "" {
		return
	}
	if err := os.Remove(a.solutionPath); err != nil {
		a.log.Warn("the file with the oracle could not be removed", "error", err)
	}
}
