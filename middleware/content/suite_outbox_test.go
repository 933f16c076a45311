package content_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/outboxtest"
)

// subject is an outbox behind a Content, and its relays open what they read: what comes out
// is what went in.
type subject struct {
	outbox.Enqueuer
	operators

	ob *memoutbox.Outbox
	c  *content.Content
}

type operators interface{ admin.Manager }

func newSubject(t *testing.T) outboxtest.Subject {
	t.Helper()
	ob := newOutbox(t)
	const sealed = 28 // bytes that a seal adds
	c := newContent(t, content.Config{
		Seal:  &content.Seal{Keys: newKeys()},
		Claim: &content.Claim{Blobs: newBlobs(), Over: 512, Max: outbox.DefaultMaxPayloadBytes + sealed},
	})
	return subject{c.Enqueuer(ob), ob.Admin(), ob, c}
}

func (s subject) Begin(ctx context.Context) (outboxtest.Tx, error) {
	tx, err := s.ob.Begin(ctx)
	return subjectTx{tx, s}, err
}

type subjectTx struct {
	*memoutbox.Tx

	s subject
}

func (t subjectTx) Enqueue(ctx context.Context, msgs ...outbox.Message) error {
	msgs, err := t.s.c.Encode(ctx, msgs...)
	if err != nil {
		return err
	}
	return t.s.ob.Enqueue(ctx, t.Tx, msgs...)
}

func (s subject) Source(group string) driver.Source {
	return s.source(memoutbox.SourceConfig{Group: group})
}

func (s subject) source(cfg memoutbox.SourceConfig) driver.Source {
	inner, _ := s.ob.Source(cfg).(fullSource)
	return opening{inner, s.c}
}

// Group implements outboxtest.Grouper.
func (s subject) Group(cfg outboxtest.GroupConfig) (driver.Source, error) {
	src := memoutbox.SourceConfig{Group: cfg.Name, Slots: cfg.Slots, Topics: cfg.Topics}
	src.Start = cfg.Start
	return s.source(src), nil
}

// Now implements outboxtest.Delayer.
func (s subject) Now(context.Context) (time.Time, error) { return time.Now(), nil }

// Promote implements outboxtest.Delayer: whoever looks promotes.
func (s subject) Promote(context.Context) error {
	s.ob.Committed()
	return nil
}

// What the suite looks for in a source and in its sessions.
type (
	fullSource interface {
		driver.Source
		driver.Sharded
		driver.Pausable
		driver.PolicyKeeper
	}
	fullSession interface {
		driver.Session
		driver.Holder
		driver.Positioned
		driver.Slotted
		driver.OutageKeeper
	}
)

// opening is a source whose records are open.
type opening struct {
	fullSource

	c *content.Content
}

func (o opening) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := o.fullSource.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	full, _ := s.(fullSession)
	return openSession{full, o.c}, nil
}

type openSession struct {
	fullSession

	c *content.Content
}

func (s openSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	page, err := s.fullSession.Read(ctx, limit)
	page.Records = slices.Clone(page.Records)
	for i := range page.Records {
		openRecord(ctx, s.c, &page.Records[i])
	}
	return page, err
}

func (s openSession) Due(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
	due, err := s.fullSession.Due(ctx, limit, except)
	due = slices.Clone(due)
	for i := range due {
		openRecord(ctx, s.c, &due[i].Record)
	}
	return due, err
}

func openRecord(ctx context.Context, c *content.Content, r *outbox.Record) {
	if r.Headers["content-key"] == "" {
		return // it was held as it was read
	}
	err := c.Handle(func(_ context.Context, msg *message.Message) error {
		m, err := outbox.FromWatermill(r.Topic, msg, nil)
		delete(m.Headers, "leat_opened")
		r.Payload, r.Headers = m.Payload, m.Headers
		if len(r.Headers) == 0 {
			r.Headers = nil
		}
		return err
	})(ctx, outbox.ToWatermill(r))
	if err != nil {
		panic(err)
	}
}

// features are what a subject lacks: replays are memoutbox's own.
var features = outboxtest.Features{NoRetention: true, NoTakeover: true, NoReplay: true}

// stored are the checks of what operators see, which is what is stored: sealed.
var stored = map[string]bool{
	"Admin_TraceIsBounded": true, "Admin_TraceTells": true, "Admin_SearchFinds": true, "Admin_DelayedIsCancelled": true,
}

// TestConformance: the promises of an outbox hold with a Content in front.
func TestConformance(t *testing.T) {
	t.Parallel()
	skipped := 0
	for _, check := range outboxtest.Checks(features) {
		if stored[check.Name] {
			skipped++
			continue
		}
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, check.Run(t.Context(), features, newSubject(t)))
		})
	}
	require.Len(t, stored, skipped)
}

func TestRelayConformance(t *testing.T) {
	t.Parallel()
	outboxtest.RunRelay(t, features, newSubject)
}
