package parkjson

import (
	"encoding/json"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/storable"
)

// EncodeMetadata returns metadata as JSON, for operators and for SQL, and apart from
// it what PostgreSQL's JSON does not take: NUL, and bytes that are no UTF-8.
func EncodeMetadata(m message.Metadata) (text string, raw *string, err error) {
	clean, rest := map[string]string{}, [][2][]byte(nil)
	for name, value := range m {
		if fits(name) && fits(value) {
			clean[name] = value
		} else {
			rest = append(rest, [2][]byte{[]byte(name), []byte(value)})
		}
	}
	encoded, err := json.Marshal(clean)
	if err != nil || rest == nil {
		return string(encoded), nil, err
	}
	extra, err := json.Marshal(rest)
	if err != nil {
		return "", nil, err
	}
	rawText := string(extra)
	return string(encoded), &rawText, nil
}

// DecodeMetadata is the inverse of EncodeMetadata.
func DecodeMetadata(text string, raw *string) (message.Metadata, error) {
	m := message.Metadata{}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, err
	}
	if m == nil { // null
		m = message.Metadata{}
	}
	if raw == nil {
		return m, nil
	}
	var rest [][2][]byte
	if err := json.Unmarshal([]byte(*raw), &rest); err != nil {
		return nil, err
	}
	for _, pair := range rest {
		m[string(pair[0])] = string(pair[1])
	}
	return m, nil
}

// fits reports whether text can be stored as it is.
func fits(text string) bool {
	return storable.Text(text) == text
}
