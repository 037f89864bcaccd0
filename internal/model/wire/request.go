package wire

import (
	"fmt"

	"assay/internal/model"
)

// DecodeRequest converts the body of a request to what a [model.Client] takes. It returns
// an error that begins with the name of the member for a member that a model.Request
// cannot represent and that changes the reply.
func DecodeRequest(api API, body []byte) (model.Request, error) {
	return model.Request{}, fmt.Errorf("not yet: %s of %d bytes", api, len(body))
}
