package parkjson

import (
	"encoding/json"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/storable"
)

// EncodeMetadata returns the metadata of m as JSON, for operators and for SQL. It returns
// separately, as raw pairs, the entries that PostgreSQL's JSON does not accept: those with NUL or
// with bytes that are not UTF-8. An empty list among the pairs means that the payload is null,
// which its column cannot store.
func EncodeMetadata(m *message.Message) (text string, raw *string, err error) {
	clean, rest := map[string]string{}, [][][]byte(nil)
	if m.Payload == nil {
		rest = append(rest, [][]byte{})
	}
	for name, value := range m.Metadata {
		if fits(name) && fits(value) {
			clean[name] = value
		} else {
			rest = append(rest, [][]byte{[]byte(name), []byte(value)})
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

// errRaw is returned for metadata that was changed in the database by other means.
var errRaw = errors.New("leat: metadata_raw must have pairs, and an empty list if the payload is null")

// DecodeMetadata is the inverse of EncodeMetadata. The payload of a message was null if null is true.
func DecodeMetadata(text string, raw *string) (m message.Metadata, null bool, err error) {
	m = message.Metadata{}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, false, err
	}
	if m == nil { // null
		m = message.Metadata{}
	}
	if raw == nil {
		return m, false, nil
	}
	var rest [][][]byte
	if err := json.Unmarshal([]byte(*raw), &rest); err != nil {
		return nil, false, err
	}
	for _, pair := range rest {
		switch len(pair) {
		case 0:
			null = true
		case 2:
			m[string(pair[0])] = string(pair[1])
		default:
			return nil, false, errRaw
		}
	}
	return m, null, nil
}

// fits reports whether text can be stored unchanged.
func fits(text string) bool {
	return storable.Text(text) == text
}
