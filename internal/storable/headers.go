package storable

import "encoding/json"

// Headers reads headers that are stored as JSON. A row that was inserted by hand may hold values
// other than texts: those become their JSON. A JSON value that is not an object becomes one header,
// called headers. If a relay stopped at such a row, it would stop for good.
func Headers(raw []byte) map[string]string {
	var texts map[string]string
	if json.Unmarshal(raw, &texts) == nil {
		return texts
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return map[string]string{"headers": Text(string(raw))}
	}
	headers := make(map[string]string, len(values))
	for name, value := range values {
		text := string(value)
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		headers[name] = text
	}
	return headers
}
