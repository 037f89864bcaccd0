package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// clientConfigFile is the file in which MCP clients look for servers of tools.
const clientConfigFile = ".mcp.json"

// clientConfig is the file that tells MCP clients in a folder how to reach the tools.
type clientConfig struct {
	folder                *os.File // in which it is
	path, program, socket string
	isOurs                bool // it has been written
}

// newClientConfig returns the file in this folder. The caller closes the result's folder.
func newClientConfig(dir, program, socket string) (*clientConfig, error) {
	folder, err := os.Open(filepath.Join(dir, "."))
	if err != nil {
		return nil, fmt.Errorf("the folder of the program: %w", err)
	}
	return &clientConfig{folder: folder, path: filepath.Join(dir, clientConfigFile), program: program, socket: socket}, nil
}

// write writes the file. What is at its path the first time is not replaced, and is an error unless it has
// the same content. Later, when code of the agent has run in the folder, the file is written again.
func (c *clientConfig) write() error {
	text, err := json.MarshalIndent(map[string]any{
		"mcpServers": map[string]any{
			// The path is not an argument, because other users and processes can see those.
			"assay": map[string]any{"command": c.program, "args": []string{"mcp", "--attach"}, "env": map[string]string{"ASSAY_SOCKET": c.socket}},
		},
	}, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if c.isOurs {
		if err := c.remove(); err != nil {
			return fmt.Errorf("replace the MCP configuration of the program: %w", err)
		}
	}
	file, err := os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return checkClientConfig(c.path, text)
	}
	if err != nil {
		return fmt.Errorf("write the MCP configuration of the program: %w", err)
	}
	c.isOurs = true
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// remove removes what is at the file's path, whatever modes code has given it and its folder. A folder that
// cannot be removed gets another name.
func (c *clientConfig) remove() error {
	err := c.folder.Chmod(0o700) // its path is of no use without the right to search it
	if err == nil && os.RemoveAll(c.path) != nil {
		err = os.Rename(c.path, c.path+"-"+rand.Text())
	}
	return err
}

// checkClientConfig returns an error unless a plain file at path has this content.
func checkClientConfig(path string, want []byte) error {
	info, err := os.Lstat(path)
	var existing []byte
	if err == nil && info.Mode().IsRegular() && info.Size() == int64(len(want)) {
		existing, err = os.ReadFile(path)
	}
	if err != nil {
		return fmt.Errorf("read the MCP configuration of the program: %w", err)
	}
	if !bytes.Equal(existing, want) {
		return fmt.Errorf("the sandbox has a %s already, which the program would take for ours: give that file another name", clientConfigFile)
	}
	return nil
}
