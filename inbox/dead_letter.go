package inbox

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

// The headers that a dead letter carries in addition to the message's own
// (docs/inbox-failures.md).
const (
	headerConsumer = "leat_dead_consumer"
	// headerID has the message's own id. The dead letter has another id, derived from it and the
	// consumer, since two consumers may give up the same message.
	headerID       = "leat_dead_id"
	headerTopic    = "leat_dead_topic"
	headerReason   = "leat_dead_reason"
	headerAttempts = "leat_dead_attempts"
	// headerFirst and headerLast are the times of the first and the last attempt, as
	// RFC 3339 in UTC.
	headerFirst = "leat_dead_first"
	headerLast  = "leat_dead_last"
)

// deadLetter enqueues the dead letter. If the outbox refuses it, because it is too large or its
// key, type or metadata are not valid texts of the database, the message is parked instead:
// otherwise it would be redelivered for ever, and the store accepts any bytes. It is parked
// without its key, so that later messages of the key are not held up.
func (p *Processor) deadLetter(ctx context.Context, d *delivery, req driver.ParkRequest, cause error) (Outcome, error) {
	var refused error
	outcome, err := p.instead(ctx, d, req.ID, OutcomeDeadLettered, cause, func(ctx context.Context) error {
		err := p.enqueueLetter(ctx, d, req.Reason, req.History)
		if errors.Is(err, outbox.ErrInvalidMessage) {
			refused = err
		}
		return err
	})
	if err == nil || refused == nil || p.parker == nil {
		return outcome, err
	}
	req.Reason = attemptError(fmt.Errorf("%w; no dead letter: %w", cause, refused)).Error
	d.key.Name = ""
	outcome, _, err = p.park(ctx, d, req, cause)
	return outcome, err
}

// enqueueLetter makes the dead letter and enqueues it.
func (p *Processor) enqueueLetter(ctx context.Context, d *delivery, reason string, h driver.History) error {
	policy := p.cfg.OnFailure
	letter, err := outbox.FromWatermill(policy.Topic, d.msg, func(string, *message.Message) (string, error) { return d.key.Name, nil })
	if err != nil {
		return err
	}
	headers := map[string]string{
		headerConsumer: p.consumer, headerID: d.id, headerTopic: d.topic,
		headerReason: reason, headerAttempts: strconv.Itoa(h.Attempts),
	}
	if !h.First.IsZero() {
		headers[headerFirst] = h.First.UTC().Format(time.RFC3339Nano)
		headers[headerLast] = h.Last.UTC().Format(time.RFC3339Nano)
	}
	if letter.Headers == nil {
		letter.Headers = headers
	} else {
		maps.Copy(letter.Headers, headers)
	}
	letter.NotBefore = time.Time{}
	letter.ID = "" // a message without an id gets a new one
	if d.id != "" {
		letter.ID = ChildID(d.id, p.consumer, "dead letter "+hex.EncodeToString(d.fingerprint))
	}
	return policy.Outbox.EnqueueContext(ctx, letter)
}
