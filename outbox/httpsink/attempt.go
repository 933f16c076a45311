package httpsink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/internal/webhooks"
	"github.com/leat-go/leat/outbox"
)

const (
	// maxDrained bounds what is read of an answer, in bytes, to make its connection reusable. A
	// connection with a longer answer is closed.
	maxDrained = 64 << 10
	// drainTimeout bounds the time that reading it takes: only the headers matter.
	drainTimeout = time.Second
	// maxShown bounds what an error quotes of an answer, in bytes.
	maxShown = 200
)

// attempt makes one request.
func (s *Sink) attempt(ctx context.Context, e *endpoint, t *target, r *outbox.Record) (result outbox.Result) {
	began, status := time.Now(), 0
	defer func() {
		if p := recover(); p != nil {
			result = outbox.Failed(outbox.FailureUnknown, s.panicked(ctx, e.name, p))
		}
		s.observe(ctx, RequestEvent{
			Endpoint: e.name, ID: r.ID, Status: status, Took: time.Since(began), Err: result.Err,
		})
	}()
	request, err := s.request(ctx, t, r, began)
	if err != nil {
		return outbox.Failed(outbox.FailurePermanent, fmt.Errorf("endpoint %.200q: %w", e.name, err))
	}
	request, finish := bounded(request, s.cfg.Timeout)
	defer finish()
	answer, err := s.client.RoundTrip(request) //nolint:bodyclose // drain does
	if err != nil {
		return outbox.Failed(outbox.FailureOutage, fmt.Errorf("endpoint %.200q: %w", e.name, silent(request.URL, err)))
	}
	status = answer.StatusCode
	return s.judge(ctx, e, t, answer, drain(request.Context(), answer, finish)) //nolint:contextcheck // it is bounded from ctx
}

// silent adds the server of u to err: it is not just the topic that is out. The rest of u can be
// secret.
func silent(u *url.URL, err error) error {
	if errors.Is(err, errAddress) {
		return err
	}
	return fmt.Errorf("the server at [%s://%.200s] does not answer: %w", u.Scheme, u.Host, err)
}

// bounded returns a request that ends after timeout, at the latest when finish is called.
func bounded(r *http.Request, timeout time.Duration) (_ *http.Request, finish func()) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	return r.WithContext(ctx), cancel
}

// request returns the request for r at the time now. The body is a copy: a transport may read it
// after it has answered, when r no longer belongs to the sink.
func (s *Sink) request(ctx context.Context, t *target, r *outbox.Record, now time.Time) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(bytes.Clone(r.Payload)))
	if err != nil {
		return nil, err
	}
	h := request.Header
	for name, values := range t.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	h.Set("User-Agent", s.cfg.UserAgent)
	h.Set("Content-Type", s.cfg.ContentType)
	if given := r.Headers["content-type"]; given != "" && validValue(given) {
		h.Set("Content-Type", given)
	}
	if !t.StandardOnly {
		if err := webhooks.Encode(h, headersOf(r)); err != nil {
			return nil, err
		}
	}
	id, timestamp := webhooks.IDOf(r.ID), webhooks.Timestamp(now)
	h.Set(webhooks.HeaderID, id)
	h.Set(webhooks.HeaderTimestamp, timestamp)
	h.Set(webhooks.HeaderSignature, webhooks.Sign(t.secrets, id, timestamp, r.Payload))
	return request, nil
}

// headersOf returns the headers of r with those that leat sets itself.
func headersOf(r *outbox.Record) map[string]string {
	return outbox.ToWatermill(r).Metadata
}

// drain reads the answer to its end and closes it, and returns its beginning. It ends with ctx, which finish
// ends, and after drainTimeout.
func drain(ctx context.Context, answer *http.Response, finish func()) []byte {
	closed := sync.OnceFunc(func() { _ = answer.Body.Close() })
	defer closed()
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return nil // what follows is not an answer but the raw connection, which nothing else would close
	}
	defer time.AfterFunc(drainTimeout, finish).Stop()
	defer context.AfterFunc(ctx, closed)()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxShown))
	// The connection is kept if the answer ends within maxDrained bytes. One byte more shows its end.
	_, _ = io.CopyN(io.Discard, answer.Body, maxDrained-maxShown+1)
	return body
}

// shown is the part of an answer that an error quotes.
func shown(body []byte) string {
	return storable.AtMost(string(body), maxShown)
}

// validValue reports whether text can be the value of a header.
func validValue(text string) bool {
	for _, c := range []byte(text) {
		if c != '\t' && c < ' ' || c > '~' {
			return false
		}
	}
	return text != ""
}
