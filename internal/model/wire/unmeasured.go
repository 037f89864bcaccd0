package wire

import (
	"slices"

	"github.com/tidwall/gjson"
)

// UnmeasuredInput says what of the input of a request is not in its text, so that the text's length tells nothing of its
// tokens: how many pictures it has, and whether it has documents, sounds, or anything that the vendor has stored. Where an
// object has a name twice, both values count: the vendor may read either.
func UnmeasuredInput(body []byte) (pictures int64, isUnbounded bool) {
	var look func(gjson.Result)
	look = func(value gjson.Result) {
		if !value.IsObject() && !value.IsArray() {
			return
		}
		value.ForEach(func(name, inner gjson.Result) bool { // an element of an array has no name
			switch {
			case name.Str == "input" || name.Str == "arguments": // what the model has said
			case name.Str == "type" && slices.Contains([]string{"image", "image_url", "input_image"}, inner.Str):
				pictures++
			case name.Str == "type" && slices.Contains([]string{"document", "container_upload", "file", "input_file", "input_audio", "video_url", "item_reference"}, inner.Str),
				name.Str == "file_id":
				isUnbounded = true
			default:
				look(inner)
			}
			return !isUnbounded
		})
	}
	gjson.ParseBytes(body).ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "previous_response_id", "conversation", "prompt", "container":
			isUnbounded = isUnbounded || value.Type != gjson.Null
		case "messages", "input", "system", "instructions":
			look(value)
		}
		return !isUnbounded
	})
	return pictures, isUnbounded
}
