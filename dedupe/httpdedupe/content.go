package httpdedupe

import (
	"bytes"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"github.com/leat-go/leat/dedupe"
)

// content is the default of Config.Fingerprint.
func content(r *http.Request, body []byte) []byte {
	_, query := target(r)
	if parts, ok := partsOf(r.Header.Get("Content-Type"), body); ok {
		return []byte(dedupe.Fingerprint(append([][]byte{[]byte(query)}, parts...)...))
	}
	return []byte(dedupe.Fingerprint([]byte(query), body))
}

// partsOf returns what is in a multipart body, without its boundary: the type, and for each part
// its headers and its bytes as they are. It reports false if the body is not multipart, or not
// complete.
func partsOf(contentType string, body []byte) (parts [][]byte, ok bool) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.HasPrefix(kind, "multipart/") || params["boundary"] == "" {
		return nil, false
	}
	parts = append(parts, []byte(kind))
	reader := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF { //nolint:errorlint // the parser returns it bare; a truncated body gives another error
			return parts, true
		}
		if err != nil {
			return nil, false
		}
		var headers [][]byte
		for _, name := range slices.Sorted(maps.Keys(part.Header)) {
			headers = append(headers, []byte(name))
			for _, value := range part.Header[name] {
				headers = append(headers, []byte(value))
			}
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, false
		}
		parts = append(parts, []byte(dedupe.Fingerprint(headers...)), content)
	}
}
