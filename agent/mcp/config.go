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

// configFile is where programs look for servers of tools.
const configFile = ".mcp.json"

// writeConfig says in a folder how the tools are reached. Our own file may be
// there already; another one is not touched.
func writeConfig(folder, program, socket string) error {
	text, err := json.MarshalIndent(map[string]any{
		"mcpServers": map[string]any{
			"assay": map[string]any{"command": program, "args": []string{"mcp", "--socket", socket}},
		},
	}, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	path := filepath.Join(folder, configFile)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return checkConfig(path, text)
	}
	if err != nil {
		return fmt.Errorf("tell the program of the tools: %w", err)
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

func checkConfig(path string, ours []byte) error {
	there, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("tell the program of the tools: %w", err)
	}
	if !bytes.Equal(there, ours) {
		return fmt.Errorf("the sandbox has a %s already, which the program would take for ours: give that file another name", configFile)
	}
	return nil
}
