package wmforward

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/leat-go/leat/outbox"
)

// escapedHeaders is the header in whose place the headers of a record stand that is set
// aside and has a NUL in one of them, which jsonb cannot hold: as JSON in a text. So do
// headers that look like that by themselves.
const escapedHeaders = "leat_escaped_headers"

// outOfBounds says why msg could not be set aside, were it to fail: it would end the relay
// again and again. The bounds are the outbox's own.
func outOfBounds(msg *outbox.Message) error {
	for _, f := range []struct {
		name, value string
		most        int
	}{
		{"id", msg.ID, outbox.MaxIDBytes},
		{"topic", msg.Topic, outbox.MaxTopicBytes},
		{"key", msg.Key, outbox.MaxKeyBytes},
	} {
		switch {
		case len(f.value) > f.most:
			return fmt.Errorf("leat: the %s is longer than %d bytes", f.name, f.most)
		case !utf8.ValidString(f.value):
			return fmt.Errorf("leat: the %s %.200q is not valid UTF-8", f.name, f.value)
		case strings.IndexByte(f.value, 0) >= 0:
			return fmt.Errorf("leat: the %s %.200q contains a NUL byte", f.name, f.value)
		}
	}
	return nil
}

// storedHeaders returns headers as they are stored, nil for none.
func storedHeaders(headers map[string]string) (*string, error) {
	if len(headers) == 0 {
		return nil, nil //nolint:nilnil // NULL is what is stored
	}
	raw, err := json.Marshal(headers)
	if _, taken := headers[escapedHeaders]; err == nil && (taken || hasNUL(headers)) {
		raw, err = json.Marshal(map[string]string{escapedHeaders: string(raw)})
	}
	if err != nil {
		return nil, err
	}
	text := string(raw)
	return &text, nil
}

func hasNUL(headers map[string]string) bool {
	for name, value := range headers {
		if strings.IndexByte(name, 0) >= 0 || strings.IndexByte(value, 0) >= 0 {
			return true
		}
	}
	return false
}

// headersOf undoes storedHeaders.
func headersOf(stored string) (headers map[string]string) {
	_ = json.Unmarshal([]byte(stored), &headers) // texts, as storedHeaders has written them
	if escaped, ok := headers[escapedHeaders]; ok && len(headers) == 1 {
		headers = nil
		_ = json.Unmarshal([]byte(escaped), &headers)
	}
	return headers
}
