package httpdedupe

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"strings"
)

// errResponseTooLarge is returned to a handler within NewTx that writes more
// than Config.MaxResponseBytes. The transaction is rolled back.
var errResponseTooLarge = errors.New("leat: the response is larger than MaxResponseBytes")

// recorder is the http.ResponseWriter that a handler gets. It holds the response
// back, so that it can be recorded before the client sees it. It has no Flush,
// Hijack or Unwrap: streamer has.
// See design 17.4.
type recorder struct {
	w      http.ResponseWriter
	most   int
	header http.Header // the handler's; begins with the headers that are already set

	status   int         // 0 until written
	sent     http.Header // header as it was when the status was written
	body     bytes.Buffer
	tooLarge bool

	// overflow sends the held-back response when it becomes too large; nil if that is not
	// allowed.
	overflow func() error
	// through is set if the response goes to the client as it is written.
	through bool
}

func newRecorder(w http.ResponseWriter, most int) *recorder {
	return &recorder{w: w, most: most, header: w.Header().Clone()}
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header {
	if r.header == nil {
		r.header = make(http.Header)
	}
	return r.header
}

// WriteHeader implements http.ResponseWriter. Informational responses go out at
// once.
func (r *recorder) WriteHeader(status int) {
	switch {
	case r.status != 0:
	case status < 100 || status > 999:
		r.w.WriteHeader(status) // which panics, as it would without the recorder
	case status < 200 && status != http.StatusSwitchingProtocols:
		before := r.w.Header().Clone()
		put(r.w.Header(), r.Header())
		r.w.WriteHeader(status)
		put(r.w.Header(), before)
	default:
		r.status, r.sent = status, r.Header().Clone()
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	switch {
	case r.through:
		return r.w.Write(p)
	case len(p) > 0 && (r.status < 200 || r.status == http.StatusNoContent || r.status == http.StatusNotModified):
		return 0, http.ErrBodyNotAllowed
	case r.body.Len()+len(p) <= r.most:
		return r.body.Write(p)
	case r.overflow == nil:
		r.tooLarge = true
		return 0, errResponseTooLarge
	}
	if err := r.overflow(); err != nil {
		return 0, err
	}
	return r.w.Write(p)
}

// written reports whether the handler has answered.
func (r *recorder) written() bool {
	return r.status != 0
}

// response returns the response to store.
func (r *recorder) response(names []string) response {
	r.WriteHeader(http.StatusOK) // as net/http does for a handler that writes nothing
	return response{Status: r.status, Header: selected(r.sent, names), Kept: !r.through, body: r.body.Bytes()}
}

// deliver writes to the client what was held back, and the trailers.
func (r *recorder) deliver() {
	if !r.through {
		r.WriteHeader(http.StatusOK)
		put(r.w.Header(), r.sent)
		r.w.WriteHeader(r.status)
		_, _ = r.w.Write(r.body.Bytes()) // the client has gone: it will retry
	}
	declared := strings.ToLower(strings.Join(r.sent.Values("Trailer"), ","))
	for name, values := range r.header {
		if strings.HasPrefix(name, http.TrailerPrefix) || declared != "" && contains(declared, name) {
			r.w.Header()[name] = values
		}
	}
}

// contains reports whether the list of declared trailers has name.
func contains(declared, name string) bool {
	for d := range strings.SplitSeq(declared, ",") {
		if strings.EqualFold(strings.TrimSpace(d), name) {
			return true
		}
	}
	return false
}

// put makes dst equal to src.
func put(dst, src http.Header) {
	clear(dst)
	maps.Copy(dst, src)
}
