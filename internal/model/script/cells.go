package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"assay/internal/model"
)

var (
	// cellID finds the id of a cell in the result of a tool, as YAML or as JSON.
	cellID = regexp.MustCompile(`"?\bcell_id"?\s*[:=]\s*"?([^\s",}]+)`)

	// cellVariable finds $cell[N] in the input of a tool.
	cellVariable = regexp.MustCompile(`\$cell\[(\d+)\]`)
)

// createdCellIDs returns the ids of the notebook cells that a conversation has created,
// in order: the ids in the results of create_cell and create_markdown_cell.
func createdCellIDs(messages []model.Message) []string {
	creates := map[string]bool{} // by id of the call
	var cells []string
	for _, m := range messages {
		for _, b := range m.Content {
			switch {
			case b.Type == model.BlockToolUse:
				creates[b.ID] = strings.HasSuffix(b.Name, "create_cell") || strings.HasSuffix(b.Name, "create_markdown_cell")
			case b.Type == model.BlockToolResult && creates[b.ToolUseID] && !b.IsError:
				if match := cellID.FindStringSubmatch(model.JoinTextBlocks(b.Content)); match != nil {
					cells = append(cells, match[1])
				}
			}
		}
	}
	return cells
}

// fillCellIDs returns the content with each $cell[N] in the inputs of tools replaced by
// cells[N]. It is an error if there are too few cells.
func fillCellIDs(content []model.Block, cells []string) ([]model.Block, error) {
	filled := make([]model.Block, len(content))
	for i, b := range content {
		filled[i] = b
		if b.Type != model.BlockToolUse {
			continue
		}
		input, err := fillCellIDsInInput(b.Input, cells)
		if err != nil {
			return nil, fmt.Errorf("input of %s: %w", b.Name, err)
		}
		filled[i].Input = input
	}
	return filled, nil
}

func fillCellIDsInInput(input json.RawMessage, cells []string) (json.RawMessage, error) {
	var missing error
	filled := cellVariable.ReplaceAllFunc(input, func(found []byte) []byte {
		n, err := strconv.Atoi(string(cellVariable.FindSubmatch(found)[1]))
		if err != nil || n >= len(cells) {
			missing = fmt.Errorf("%s: only %d cells were created so far", found, len(cells))
			return found
		}
		quoted, _ := json.Marshal(cells[n])
		return bytes.Trim(quoted, `"`)
	})
	return filled, missing
}
