package httpdedupe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// replayedHeader marks a response that is the one of an earlier request.
const replayedHeader = "Idempotency-Replayed"

// response is the stored form of a response: a line of JSON, followed by the unchanged body.
type response struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	// Raw holds the headers that have a value that is not UTF-8, which JSON would change.
	Raw map[string][][]byte `json:"raw_header,omitempty"`
	// Kept is set if the body was kept.
	Kept bool `json:"kept"`

	body []byte
}

func (r response) encode() ([]byte, error) {
	all := r.Header
	r.Header = make(http.Header, len(all))
	for name, values := range all {
		if utf8.ValidString(name + "\n" + strings.Join(values, "\n")) {
			r.Header[name] = values
			continue
		}
		if r.Raw == nil {
			r.Raw = make(map[string][][]byte)
		}
		for _, value := range values {
			r.Raw[name] = append(r.Raw[name], []byte(value))
		}
	}
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("leat: encode the response: %w", err)
	}
	return slices.Concat(line, []byte{'\n'}, r.body), nil
}

// decode reads what encode wrote. It fails for a response that the store could not keep.
func decode(stored []byte) (response, error) {
	line, body, _ := bytes.Cut(stored, []byte{'\n'})
	var r response
	if err := json.Unmarshal(line, &r); err != nil {
		return response{}, fmt.Errorf("leat: decode the response: %w", err)
	}
	for name, values := range r.Raw {
		if r.Header == nil {
			r.Header = make(http.Header)
		}
		for _, value := range values {
			r.Header[name] = append(r.Header[name], string(value))
		}
	}
	r.Raw, r.body = nil, body
	return r, nil
}

// selected returns the headers of names in h, less those that h itself calls
// hop-by-hop.
func selected(h http.Header, names []string) http.Header {
	var hop []string
	for _, v := range h.Values("Connection") {
		for name := range strings.SplitSeq(v, ",") {
			hop = append(hop, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	out := make(http.Header)
	for _, name := range names {
		name = http.CanonicalHeaderKey(name)
		if values := h[name]; len(values) > 0 && !slices.Contains(hop, name) {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// replay writes the response of the request that was processed.
func (c Config) replay(w http.ResponseWriter, r *http.Request, stored []byte) {
	res, err := decode(stored)
	if err != nil || !res.Kept || res.Status < 200 || res.Status > 999 {
		p := problem(http.StatusGone, codeNotKept, "The request was processed; its response was not kept.")
		p.OriginalStatus = res.Status
		c.answer(w, r, p)
		return
	}
	maps.Copy(w.Header(), res.Header)
	w.Header().Set(replayedHeader, "true")
	w.WriteHeader(res.Status)
	_, _ = w.Write(res.body) // the client has gone: it will retry
}
