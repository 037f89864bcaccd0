package model

import "encoding/json"

// marked is what a block or a tool has beside its own fields: the marker up to
// which the API is to cache the request, nil for none.
type marked struct {
	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"` // ephemeral
}

// plainTool is a [Tool] without its methods.
type plainTool Tool

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Tool) UnmarshalJSON(data []byte) error {
	var in struct {
		plainTool
		marked
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*t = Tool(in.plainTool)
	t.Cache = in.CacheControl != nil
	return nil
}
