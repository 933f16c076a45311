package wmforward

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// errMalformed is the cause of the failure of a record that stands for a row that
// could not be decoded.
var errMalformed = errors.New("leat: malformed row")

// Guard returns a sink that answers outbox.FailurePermanent, with the reason, for records that
// stand for rows that could not be decoded, and passes all others to sink. Sinks that do not look
// at topics need it; for others it gives a better error.
func Guard(sink driver.Sink) driver.Sink {
	g := guard{sink}
	if asked, ok := sink.(checker); ok {
		return checked{g, asked}
	}
	return g
}

// checker are the optional interfaces of sinks, which a relay looks for.
type checker interface {
	driver.Checker
	driver.TopicChecker
}

// checked is a guard of a sink that is a checker.
type checked struct {
	guard
	checker
}

type guard struct {
	sink driver.Sink
}

// Send implements driver.Sink.
func (g guard) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	if !slices.ContainsFunc(records, malformed) {
		return g.sink.Send(ctx, records)
	}
	good := slices.DeleteFunc(slices.Clone(records), malformed)
	var sent []outbox.Result
	if len(good) > 0 {
		if sent = g.sink.Send(ctx, good); len(sent) != len(good) {
			return sent // the relay notices the broken contract
		}
	}
	results := make([]outbox.Result, len(records))
	for i := range records {
		if malformed(records[i]) {
			results[i] = refuse(&records[i])
			continue
		}
		results[i], sent = sent[0], sent[1:]
	}
	return results
}

// malformed reports whether r stands for a row that could not be decoded.
func malformed(r outbox.Record) bool {
	_, ok := r.Headers[headerMalformed]
	return ok && r.Topic == ""
}

func refuse(r *outbox.Record) outbox.Result {
	return outbox.Failed(outbox.FailurePermanent, fmt.Errorf("%w %.200q: %s", errMalformed, r.ID, r.Headers[headerMalformed]))
}
