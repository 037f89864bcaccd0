package wire

import "net/http"

// modelEntry is a model in a list.
type modelEntry struct {
	ID          string `json:"id"`
	Object      string `json:"object,omitempty"`
	Created     *int64 `json:"created,omitempty"`
	OwnedBy     string `json:"owned_by,omitempty"`
	Type        string `json:"type,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
	CreatedAt   string `json:"created_at,omitempty"`
}

// newModelEntry returns the entry of a model as the provider has it. The API requires a date, and there is none.
func newModelEntry(provider, id string) modelEntry {
	if provider == providerAnthropic {
		return modelEntry{ID: id, Type: "model", DisplayName: id, CreatedAt: "1970-01-01T00:00:00Z"}
	}
	return modelEntry{ID: id, Object: "model", Created: new(int64), OwnedBy: "assay"}
}

// WriteModel sends the model with this id, as the provider (anthropic or openai) does at /v1/models/ID.
func WriteModel(w http.ResponseWriter, provider, id string) {
	_ = writeJSON(w, http.StatusOK, encode(newModelEntry(provider, id)))
}

// WriteModelList sends the list of the models with these ids, as the provider (anthropic or
// openai) does at /v1/models.
func WriteModelList(w http.ResponseWriter, provider string, ids []string) {
	list := make([]modelEntry, len(ids))
	for i, id := range ids {
		list[i] = newModelEntry(provider, id)
	}
	if provider != providerAnthropic {
		_ = writeJSON(w, http.StatusOK, encode(map[string]any{"object": "list", "data": list}))
		return
	}
	out := map[string]any{"data": list, "has_more": false, "first_id": nil, "last_id": nil}
	if len(ids) > 0 {
		out["first_id"], out["last_id"] = ids[0], ids[len(ids)-1]
	}
	_ = writeJSON(w, http.StatusOK, encode(out))
}
