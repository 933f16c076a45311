package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// readJSON reads a body strictly.
func (c *call) readJSON(v any) error {
	if kind := c.r.Header.Get("Content-Type"); !isJSON(kind) {
		return wrong("Content-Type", kind, "must be application/json")
	}
	dec := json.NewDecoder(c.body())
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return badBody(err)
	}
	if dec.More() {
		return &inputError{"the body must be one JSON object"}
	}
	return nil
}

func badBody(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge
	}
	return &inputError{fmt.Sprintf("the body is not what belongs here: %.300v", err)}
}

// mostBody bounds a request.
const mostBody = 64 << 10

func (c *call) body() io.Reader { return http.MaxBytesReader(c.w, c.r.Body, mostBody) }

func isJSON(kind string) bool {
	parsed, _, err := mime.ParseMediaType(kind)
	return err == nil && parsed == "application/json"
}
