package webhooks

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Headers of a message travel under a prefix: a message must not be able to set a header
// that the receiver, or a proxy before it, believes. Those of a trace have their own names
// everywhere.
// See design 6.6.
const (
	metaPrefix = "Leat-"
	// headerBundle carries, as JSON in base64, the headers that HTTP or a proxy would
	// change or drop: names with capitals or underscores, values that are not plain text.
	headerBundle = metaPrefix + "Headers"
	// headerKey carries the header called KeyName.
	headerKey = metaPrefix + "Key"
)

// errMeta is returned if the headers of a request were not written by Encode.
var errMeta = errors.New("headers of the message cannot be read")

// keyName is outbox.HeaderKey, which proxies would drop for its underscore.
const keyName = "leat_key"

// isTrace reports whether a header belongs to W3C Trace Context or Baggage.
func isTrace(name string) bool {
	return name == "traceparent" || name == "tracestate" || name == "baggage"
}

// Encode adds the headers of a message to h, so that Decode returns the same map.
func Encode(h http.Header, headers map[string]string) error {
	bundle := make(map[string]string)
	for name, value := range headers {
		switch {
		case !isPlainValue(value):
			bundle[name] = value
		case isTrace(name):
			h.Set(name, value)
		case name == keyName:
			h.Set(headerKey, value)
		case isPlainName(name):
			h.Set(metaPrefix+name, value)
		default:
			bundle[name] = value
		}
	}
	if len(bundle) == 0 {
		return nil
	}
	text, err := json.Marshal(bundle)
	if err != nil {
		return err
	}
	h.Set(headerBundle, base64.StdEncoding.EncodeToString(text))
	return nil
}

// isPlainName reports whether a name arrives as it was sent: HTTP ignores the case of letters, and
// proxies drop names with characters other than letters and digits.
func isPlainName(name string) bool {
	if name == "" || name == "headers" || name == "key" || isTrace(name) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}

// isPlainValue reports whether a value arrives as it was sent.
func isPlainValue(value string) bool {
	return value != "" && strings.Trim(value, " ") == value &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// Decode returns the headers of a message that Encode has written to h. None of them is
// part of a signature.
func Decode(h http.Header) (map[string]string, error) {
	headers := make(map[string]string)
	for name, values := range h {
		lower := strings.ToLower(name)
		if isTrace(lower) && len(values) == 1 && isPlainValue(values[0]) {
			headers[lower] = values[0] // others on the way set them, too, so an odd value is not an error
		}
		rest, meta := strings.CutPrefix(lower, strings.ToLower(metaPrefix))
		if !meta || name == headerBundle {
			continue
		}
		if name == headerKey {
			rest = keyName
		} else if !isPlainName(rest) {
			return nil, fmt.Errorf("%w: %q", errMeta, name)
		}
		if len(values) != 1 || !isPlainValue(values[0]) {
			return nil, fmt.Errorf("%w: %q comes %d times, or is not plain text", errMeta, name, len(values))
		}
		headers[rest] = values[0]
	}
	return headers, unpack(h.Get(headerBundle), headers)
}

// unpack adds the headers in text to headers, which must have none of them.
func unpack(text string, headers map[string]string) error {
	if text == "" {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("%w: %q is not in base64", errMeta, headerBundle)
	}
	var bundle map[string]string
	if err := json.Unmarshal(raw, &bundle); err != nil {
		return fmt.Errorf("%w: %q: %w", errMeta, headerBundle, err)
	}
	for name, value := range bundle {
		if _, twice := headers[name]; twice || name == "" {
			return fmt.Errorf("%w: %q comes twice, or is empty", errMeta, name)
		}
		headers[name] = value
	}
	return nil
}
