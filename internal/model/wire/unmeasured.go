package wire

import (
	"slices"

	"github.com/tidwall/gjson"
)

// UnmeasuredInput says what of the input of a request is not in its text, so that the text's length tells nothing of its
// tokens: how many pictures it has, and whether it has documents, sounds, or anything that the vendor has stored.
func UnmeasuredInput(body []byte) (pictures int64, isUnbounded bool) {
	request := gjson.ParseBytes(body)
	for _, name := range []string{"previous_response_id", "conversation", "prompt", "container"} {
		if value := request.Get(name); value.Exists() && value.Type != gjson.Null {
			return 0, true
		}
	}
	var look func(gjson.Result)
	look = func(value gjson.Result) {
		if !value.IsObject() && !value.IsArray() || isUnbounded {
			return
		}
		switch kind := value.Get("type").Str; {
		case slices.Contains([]string{"image", "image_url", "input_image"}, kind):
			pictures++
		case slices.Contains([]string{"document", "container_upload", "file", "input_file", "input_audio", "video_url", "item_reference"}, kind):
			isUnbounded = true
		}
		value.ForEach(func(name, inner gjson.Result) bool {
			isUnbounded = isUnbounded || value.IsObject() && name.Str == "file_id"
			if name.Str != "input" && name.Str != "arguments" { // what the model has said
				look(inner)
			}
			return !isUnbounded
		})
	}
	for _, name := range []string{"messages", "input", "system", "instructions"} {
		look(request.Get(name))
	}
	return pictures, isUnbounded
}
