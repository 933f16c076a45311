package show

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Document prints value, whose JSON is an object, as one line. The version is its first field.
func (p *Printer) Document(value any) error {
	content, err := encode(value)
	if err != nil {
		return err
	}
	rest := bytes.TrimPrefix(content, []byte("{"))
	comma := ","
	if bytes.Equal(rest, []byte("}")) {
		comma = ""
	}
	_, err = fmt.Fprintf(p.Out, "{\"v\":%d%s%s\n", Version, comma, rest)
	return err
}

// encode returns the JSON of value, without escaping <, > and &.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(out.Bytes()), err
}
