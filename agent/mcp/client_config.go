package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// clientConfigFile is the file in which MCP clients look for servers of tools.
const clientConfigFile = ".mcp.json"

// writeClientConfig writes a file that tells MCP clients in a folder how to reach the tools. A
// file that is there already is left alone; it is an error unless it has the same content.
func writeClientConfig(folder, program, socket string) error {
	text, err := json.MarshalIndent(map[string]any{
		"mcpServers": map[string]any{
			// The path is not an argument, because other users and processes can see those.
			"assay": map[string]any{"command": program, "args": []string{"mcp", "--attach"}, "env": map[string]string{"ASSAY_SOCKET": socket}},
		},
	}, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	path := filepath.Join(folder, clientConfigFile)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return checkClientConfig(path, text)
	}
	if err != nil {
		return fmt.Errorf("write the MCP configuration of the program: %w", err)
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// checkClientConfig returns an error unless the file has this content.
func checkClientConfig(path string, want []byte) error {
	existing, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the MCP configuration of the program: %w", err)
	}
	if !bytes.Equal(existing, want) {
		return fmt.Errorf("the sandbox has a %s already, which the program would take for ours: give that file another name", clientConfigFile)
	}
	return nil
}
