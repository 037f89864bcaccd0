package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// createdCells lists the ids of the cells that a conversation created.
func createdCells(messages []Message) []string {
	creates := map[string]bool{}
	var cells []string
	id := regexp.MustCompile(`"?\bcell_id"?\s*[:=]\s*"?([^\s",}]+)`)
	for _, m := range messages {
		for _, b := range m.Content {
			switch {
			case b.Type == BlockToolUse:
				creates[b.ID] = strings.HasSuffix(b.Name, "create_cell") || strings.HasSuffix(b.Name, "create_markdown_cell")
			case b.Type == BlockToolResult && creates[b.ToolUseID] && !b.IsError:
				if match := id.FindStringSubmatch(PlainText(b.Content)); match != nil {
					cells = append(cells, match[1])
				}
			}
		}
	}
	return cells
}

// fillCells replaces $cell[N] in the inputs of tools.
func fillCells(content []Block, cells []string) ([]Block, error) {
	filled := make([]Block, len(content))
	for i, b := range content {
		filled[i] = b
		if b.Type != BlockToolUse {
			continue
		}
		input, err := fillInput(b.Input, cells)
		if err != nil {
			return nil, fmt.Errorf("input of %s: %w", b.Name, err)
		}
		filled[i].Input = input
	}
	return filled, nil
}

func fillInput(input json.RawMessage, cells []string) (json.RawMessage, error) {
	var missing error
	variable := regexp.MustCompile(`\$cell\[(\d+)\]`)
	filled := variable.ReplaceAllFunc(input, func(found []byte) []byte {
		n, err := strconv.Atoi(string(variable.FindSubmatch(found)[1]))
		if err != nil || n >= len(cells) {
			missing = fmt.Errorf("%s: only %d cells were created so far", found, len(cells))
			return found
		}
		quoted, _ := json.Marshal(cells[n])
		return bytes.Trim(quoted, `"`)
	})
	return filled, missing
}
