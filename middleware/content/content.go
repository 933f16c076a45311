package content

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/leat-go/leat/outbox"
)

const (
	headerOpened = "leat_opened"
	headerDeadID = "leat_dead_id" // set by inbox.Policy on dead letters
)

// Config lists the steps that a Content applies to messages: from top to bottom on the way out,
// and from bottom to top on the way in. A sealed payload may be large, and both may be the data
// of a CloudEvent. At least one step is required.
type Config struct {
	// Seal encrypts payloads. Defaults to none.
	Seal *Seal
	// Claim keeps large payloads outside of the outbox. Defaults to none.
	Claim *Claim
	// CloudEvents turns messages into CloudEvents. Defaults to none.
	CloudEvents *CloudEvents
}

func (c Config) validate() error {
	switch {
	case c.Seal != nil && c.Seal.Keys == nil:
		return outbox.ConfigError("Seal.Keys", nil, "is required")
	case c.Claim != nil && c.Claim.Blobs == nil:
		return outbox.ConfigError("Claim.Blobs", nil, "is required")
	case c.Claim != nil && c.Claim.Over < 1:
		return outbox.ConfigError("Claim.Over", c.Claim.Over, "must be positive")
	case c.Claim != nil && c.Claim.Max < int64(c.Claim.Over):
		return outbox.ConfigError("Claim.Max", c.Claim.Max, "must not be less than Over")
	case c.CloudEvents != nil && c.CloudEvents.Source == "":
		return outbox.ConfigError("CloudEvents.Source", `""`, "is required")
	default:
		return nil
	}
}

// Content encodes messages on their way into the outbox, and opens them for handlers. It is
// safe for concurrent use.
type Content struct{ cfg Config }

// New returns a Content. Errors wrap outbox.ErrInvalidConfig.
func New(cfg Config) (*Content, error) {
	if cfg == (Config{}) {
		return nil, outbox.ConfigError("Config", "{}", "Seal, Claim or CloudEvents is required")
	}
	if cfg.Seal != nil {
		seal := *cfg.Seal
		seal.complete()
		cfg.Seal = &seal
	}
	if cfg.Claim != nil {
		claim := *cfg.Claim
		claim.complete()
		cfg.Claim = &claim
	}
	if cfg.CloudEvents != nil {
		events := *cfg.CloudEvents
		events.complete()
		cfg.CloudEvents = &events
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Content{cfg: cfg}, nil
}

// Enqueuer returns an Enqueuer that encodes messages and enqueues them in ob. Pass it to
// publishers, to middleware.NewInbox and to inbox.Policy instead of ob.
//
// A dead letter, which has the header leat_dead_id, goes into ob unchanged. Any other message
// that is already encoded is refused (outbox.ErrInvalidMessage): code that forwards messages must
// open them first. A message that Middleware has opened is encoded again.
func (c *Content) Enqueuer(ob outbox.Enqueuer) outbox.Enqueuer { return enqueuer{c, ob} }

type enqueuer struct {
	content *Content
	outbox.Enqueuer
}

// EnqueueContext encodes msgs and enqueues them.
func (e enqueuer) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	encoded, err := e.content.Encode(ctx, msgs...)
	if err != nil {
		return err
	}
	return e.Enqueuer.EnqueueContext(ctx, encoded...)
}

// Encode returns msgs in the form in which Enqueuer enqueues them, with their ids; msgs and their
// maps are not changed. It needs no transaction. For large payloads call it before the
// transaction begins, so that locks are not held while Blobs works, and enqueue the result in the
// outbox itself. Either all messages are encoded or none; the error names the one that failed.
func (c *Content) Encode(ctx context.Context, msgs ...outbox.Message) ([]outbox.Message, error) {
	out := slices.Clone(msgs)
	for i := range out {
		err := c.encode(ctx, &out[i])
		if invalid, ok := errors.AsType[*outbox.InvalidMessageError](err); ok {
			invalid.Index = i
			return nil, invalid
		}
		if err != nil {
			return nil, fmt.Errorf("leat: encode messages[%d], id %.200q: %w", i, out[i].ID, err)
		}
	}
	return out, nil
}

func (c *Content) encode(ctx context.Context, m *outbox.Message) (err error) {
	opened := m.Headers[headerOpened] != ""
	letter := m.Headers[headerDeadID] != "" && !opened
	switch {
	case letter && (c.cfg.Seal == nil || m.Headers[headerKeyName] != ""):
		return nil
	case !letter:
		if name := c.encoded(m.Headers); name != "" {
			return refuse("Headers["+strconv.Quote(name)+"]", m.Headers[name], "is that of a message which is encoded already: open it first")
		}
	}
	m.Headers = maps.Clone(m.Headers)
	if m.Headers == nil {
		m.Headers = map[string]string{}
	}
	delete(m.Headers, headerOpened)
	if _, tombstone := m.Headers[outbox.HeaderTombstone]; tombstone && len(m.Payload) == 0 {
		if c.cfg.Seal != nil {
			return refuse("Headers["+strconv.Quote(outbox.HeaderTombstone)+"]", "", "cannot be sealed: enqueue a tombstone in the outbox itself")
		}
		return nil
	}
	if m.ID == "" {
		if m.ID, err = outbox.NewID(); err != nil {
			return err
		}
	}
	if err := c.cfg.Seal.seal(ctx, m); err != nil {
		return err
	}
	if err := c.cfg.Claim.put(ctx, m); err != nil {
		return err
	}
	return c.cfg.CloudEvents.wrap(m, opened)
}

// encoded returns the name of a header that only encoded messages have, or "".
func (c *Content) encoded(headers map[string]string) string {
	switch {
	case headers[headerKeyName] != "":
		return headerKeyName
	case headers[headerClaim] != "":
		return headerClaim
	case c.cfg.CloudEvents != nil && strings.HasPrefix(headers[headerContentType], cloudEventsType):
		return headerContentType
	default:
		return ""
	}
}

func refuse(field, value, reason string) error {
	return &outbox.InvalidMessageError{Field: field, Value: strconv.Quote(fmt.Sprintf("%.64s", value)), Reason: reason}
}
