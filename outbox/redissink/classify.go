package redissink

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/outbox"
)

// failure returns the result of a record of a transaction that the server has refused. Redis
// never refuses a single record of a transaction: errors concern the stream or the server.
func (s *Sink) failure(stream string, err error) outbox.Result {
	if errors.Is(err, redis.Nil) {
		err = errNoStream
	}
	if ofTopic(err) {
		err = fmt.Errorf("%w: stream %q: %w", outbox.ErrTopicUnavailable, stream, err)
	} else {
		err = s.out(err)
	}
	return outbox.Failed(outbox.FailureOutage, err)
}

// out adds the name of the server to err, which concerns all streams: not just that of the record
// that failed.
func (s *Sink) out(err error) error {
	verb := "does not answer"
	if _, answer := errors.AsType[redis.Error](err); answer || errors.Is(err, errLoses) {
		verb = "refuses"
	}
	return fmt.Errorf("leat: redis at %v %s: %w", s.server.Addrs, verb, err)
}

// ofTopic reports whether err concerns only one stream: it is missing, the key holds something
// else, the user may not write to it, or its ids are used up.
func ofTopic(err error) bool {
	text := err.Error()
	switch word, _, _ := strings.Cut(text, " "); word {
	case "WRONGTYPE":
		return true
	case "NOPERM": // the command itself may be forbidden: that does not concern topics
		return strings.Contains(text, "access")
	default:
		return errors.Is(err, errNoStream) || strings.Contains(text, "exhausted the last possible ID")
	}
}
