package wire

import "net/http"

// WriteModelList sends the list of the models with these ids, as the provider (anthropic or
// openai) does at /v1/models.
func WriteModelList(w http.ResponseWriter, provider string, ids []string) {
	type entry struct {
		ID          string `json:"id"`
		Object      string `json:"object,omitempty"`
		Created     *int64 `json:"created,omitempty"`
		OwnedBy     string `json:"owned_by,omitempty"`
		Type        string `json:"type,omitempty"`
		DisplayName string `json:"display_name,omitempty"`
		CreatedAt   string `json:"created_at,omitempty"`
	}
	var epoch int64 // the API requires a date, but a list of names has none
	list := make([]entry, len(ids))
	for i, id := range ids {
		if provider == providerAnthropic {
			list[i] = entry{ID: id, Type: "model", DisplayName: id, CreatedAt: "1970-01-01T00:00:00Z"}
		} else {
			list[i] = entry{ID: id, Object: "model", Created: &epoch, OwnedBy: "assay"}
		}
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
