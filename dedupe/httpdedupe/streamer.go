package httpdedupe

import (
	"bufio"
	"net"
	"net/http"
)

// streamer is a recorder that stops holding back a response that must be streamed: one that is
// flushed, is larger than MaxResponseBytes, or hijacked. Such a response is not kept.
type streamer struct {
	*recorder
}

var (
	_ http.Flusher  = streamer{}
	_ http.Hijacker = streamer{}
)

func newStreamer(w http.ResponseWriter, most int) streamer {
	s := streamer{newRecorder(w, most)}
	s.overflow = s.letGo
	return s
}

// letGo sends the held-back response.
func (s streamer) letGo() error {
	s.WriteHeader(http.StatusOK)
	s.through = true
	put(s.w.Header(), s.sent)
	s.w.WriteHeader(s.status)
	if s.body.Len() == 0 {
		return nil
	}
	_, err := s.w.Write(s.body.Bytes())
	s.body.Reset()
	return err
}

// Flush implements http.Flusher.
func (s streamer) Flush() {
	_ = s.FlushError() // Flusher cannot return an error
}

// FlushError is what http.ResponseController calls.
func (s streamer) FlushError() error {
	if !s.through {
		if err := s.letGo(); err != nil {
			return err
		}
	}
	return http.NewResponseController(s.w).Flush()
}

// Hijack implements http.Hijacker.
func (s streamer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(s.w).Hijack()
	if err == nil {
		s.WriteHeader(http.StatusSwitchingProtocols)
		s.through = true
	}
	return conn, rw, err
}

// Unwrap lets http.ResponseController set deadlines.
func (s streamer) Unwrap() http.ResponseWriter {
	return s.w
}
