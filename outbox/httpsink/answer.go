package httpsink

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox"
)

// apart is the clock difference between an endpoint and this process above which a refusal is not the record's fault.
// Requests are signed with the time, and receivers treat a signature that is five minutes off as a replay.
const apart = 5 * time.Minute

// judge returns what an answer means.
func (s *Sink) judge(ctx context.Context, e *endpoint, t *target, answer *http.Response, body []byte) outbox.Result {
	status := answer.StatusCode
	if status >= 200 && status <= 299 {
		return outbox.Result{}
	}
	if status == http.StatusGone {
		if e.leave(t) {
			s.left(ctx, e.name, t.URL)
		}
		return outbox.Failed(outbox.FailurePermanent, fmt.Errorf("%w: %.200q has answered 410", ErrOff, e.name))
	}
	err := fmt.Errorf("endpoint %.200q answered %d %s%s", e.name, status, http.StatusText(status), detail(answer, body))
	kind := s.cfg.Classify(status)
	if kind != outbox.FailureOutage && kind != outbox.FailurePermanent {
		return outbox.Failed(outbox.FailureUnknown, err)
	}
	clock, off := clockOf(answer)
	if kind == outbox.FailurePermanent && off.Abs() > apart {
		kind = outbox.FailureOutage
		err = fmt.Errorf("%w: its clock is off this process's by %s, and what is signed with a wrong time is refused: set both right", err, off)
	}
	if kind == outbox.FailureOutage {
		if wait, ok := retryAfter(answer.Header.Get("Retry-After"), clock); ok {
			e.rest(min(wait, s.cfg.MaxRetryAfter))
		}
		if refuses(status) {
			err = fmt.Errorf("%w: %w", outbox.ErrTopicUnavailable, err)
		}
	}
	return outbox.Failed(kind, err)
}

// clockOf returns what the endpoint's clock says, and by how much it is off ours. An answer without a date counts as if it
// were right.
func clockOf(answer *http.Response) (clock time.Time, off time.Duration) {
	now := time.Now()
	clock, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return now, 0
	}
	return clock, clock.Sub(now).Round(time.Second)
}

// detail returns the text that an error contains in addition to the status.
func detail(answer *http.Response, body []byte) string {
	var text strings.Builder
	if to := answer.Header.Get("Location"); to != "" && answer.StatusCode/100 == 3 {
		fmt.Fprintf(&text, ", redirects are not followed: the URL must be changed to %.200q", to)
	}
	if after := answer.Header.Get("Retry-After"); after != "" {
		fmt.Fprintf(&text, ", retry after %.50q", after)
	}
	if len(body) > 0 {
		fmt.Fprintf(&text, ": %q", shown(body))
	}
	return text.String()
}

// DefaultClassify returns FailurePermanent for a status that is about the record: 4xx apart from
// those that follow. FailureUnknown for 409 and 425, which ask for another attempt at the record.
// FailureOutage for all else: 401, 403, 404, 405, 407 and 421 are about the endpoint, whatever
// the record; 408 and 429 are about its load; 3xx must not be followed; and 5xx does not show
// whether the record is to blame.
//
// An endpoint that answers 500 for one record only, always, is therefore out for all records,
// until it is fixed or an operator drops the record. If you send to third-party endpoints, make
// Config.Classify return FailureUnknown for 500: the relay then sets that record and its key
// aside, and considers the endpoint out if several keys fail.
func DefaultClassify(status int) outbox.FailureKind {
	switch status {
	case http.StatusConflict, http.StatusTooEarly:
		return outbox.FailureUnknown
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusMisdirectedRequest:
		return outbox.FailureOutage
	}
	if status/100 == 4 && !refuses(status) {
		return outbox.FailurePermanent
	}
	return outbox.FailureOutage
}

// refuses reports whether the endpoint takes no records at all, by its status: it does not exist,
// or the sender may not call it.
func refuses(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusProxyAuthRequired:
		return true
	default:
		return false
	}
}

// retryAfter reads the header Retry-After: seconds, or a date of HTTP. It is false if there is
// none, or an invalid one. A time in the past means no wait.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, false
	}
	const most = time.Duration(1<<63 - 1)
	seconds, digits := int64(0), true
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			digits = false
			break
		}
		if seconds = seconds*10 + int64(c-'0'); seconds > int64(most/time.Second) {
			seconds = int64(most / time.Second) // and stays there: more digits only make it larger
		}
	}
	if digits {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return max(at.Sub(now), 0), true
}

// left logs that an endpoint has answered 410.
func (s *Sink) left(ctx context.Context, name, url string) {
	s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "endpoint has answered 410, it gets nothing more: switch it off",
		slog.String("endpoint", name))
	s.wentOff(ctx, GoneEvent{Endpoint: name, URL: url})
}
