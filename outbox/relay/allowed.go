package relay

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// maxAllowed bounds Config.AllowedTopics: each record is compared with every pattern.
const maxAllowed = 1000

func (c Config) validateAllowed() error {
	if n := len(c.AllowedTopics); n > maxAllowed {
		return outbox.ConfigError("AllowedTopics", strconv.Itoa(n)+" patterns", "must be at most "+strconv.Itoa(maxAllowed))
	}
	for i, p := range c.AllowedTopics {
		if p == "" || !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
			return outbox.ConfigError(fmt.Sprintf("AllowedTopics[%d]", i), strconv.Quote(p), "must be valid UTF-8 without NUL, and not empty")
		}
	}
	return nil
}

// withheld returns the error of a record of topic that the sink may not see while patterns
// are paused, nil if it may. A pause counts first, since nothing of a paused topic is decided.
func (r *Relay) withheld(patterns []string, topic string) error {
	if err := refusal(patterns, topic); err != nil {
		return outbox.Failed(outbox.FailureOutage, err).Err
	}
	if topics.MatchAny(r.cfg.AllowedTopics, topic) {
		return nil
	}
	return outbox.Failed(outbox.FailurePermanent, fmt.Errorf("leat: topic %.200q is not one of those that the relay may send to", topic)).Err
}

// sendAllowed calls the sink with the records that it may see. The others have failed.
func (s *sender) sendAllowed(ctx context.Context, records []outbox.Record) []outbox.Result {
	r := s.relay
	paused := r.pauses.now()
	if len(paused) == 0 && len(r.cfg.AllowedTopics) == 0 {
		return r.sink.Send(ctx, records)
	}
	results := make([]outbox.Result, len(records))
	var going []outbox.Record
	var places []int
	for i := range records {
		if results[i].Err = r.withheld(paused, records[i].Topic); results[i].Err == nil {
			going, places = append(going, records[i]), append(places, i)
		}
	}
	if len(going) == 0 {
		return results
	}
	sent := r.sink.Send(ctx, going)
	if len(sent) != len(going) {
		return nil // the caller notices the wrong number of results
	}
	for i, place := range places {
		results[place] = sent[i]
	}
	return results
}

// firstWithheld returns an error about the first of records that the sink may not see, for a
// sink that delivers them in one transaction.
func (r *Relay) firstWithheld(records []outbox.Record) error {
	paused := r.pauses.now()
	for i := range records {
		if err := r.withheld(paused, records[i].Topic); err != nil {
			return &driver.PrefixError{N: i, Err: err}
		}
	}
	return nil
}
