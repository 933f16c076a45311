package roles

import (
	"context"
	"crypto/rand"
	_ "embed" // for the statement
	"encoding/base64"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// Kinds of events that a bank sends at the driver's request. None of them is a transfer.
const (
	// KindAstray goes to a topic that does not exist, a different one each.
	KindAstray = "astray"
	// KindLarge has nearly a megabyte. Its only topic does not exist at first.
	KindLarge = "large"
	// KindTooLarge has nearly a megabyte, and its topic refuses it.
	KindTooLarge = "too large"
	// KindLongID is a notice with an id of kilobytes.
	KindLongID = "long id"
	// KindLongIDTooLarge has an id of kilobytes, and its topic refuses its size.
	KindLongIDTooLarge = "long id, too large"
	// KindLongIDPoison has an id of kilobytes, and its consumer fails.
	KindLongIDPoison = "long id, poison"
	// KindHostile has headers that are JSON, but not an object of texts.
	KindHostile = "hostile"
	// KindTextTime has a time that is text, which SQLite accepts.
	KindTextTime = "text time"
)

// hostileHeaders returns the headers of events of KindHostile.
func hostileHeaders() []string {
	return []string{`{"tenant": 7}`, `["tenant", "7"]`, `{"tenant": {"id": "7"}}`, `"tenant"`}
}

const (
	// largeBytes is nearly the size of a large event, and nearly the maximum that a producer may send.
	largeBytes = 960_000
	// longIDBytes is the length of a long id. Long ids are random, so that an index cannot compress them.
	// They come from producers that write with SQL, since leat's producers refuse them.
	longIDBytes = 6000
)

//go:embed sql/enqueue_plainly.sql
var enqueuePlainly string

// enqueueOf returns how an event is enqueued.
func (b *bank) enqueueOf(e event) func(context.Context, outbox.Message) error {
	switch e.Kind {
	case KindLongID, KindLongIDTooLarge, KindLongIDPoison, KindHostile, KindTextTime:
		return func(ctx context.Context, m outbox.Message) error { return b.store.enqueuePlainly(ctx, m, e.headers) }
	default:
		return b.enqueue
	}
}

// isUndeliverable reports whether the run expects the destination to refuse events of the kind. Then a
// refusal is not a fault.
func isUndeliverable(kind string) bool {
	switch kind {
	case kindHuge, KindAstray, KindLarge, KindTooLarge, KindLongIDTooLarge, KindHostile, KindTextTime:
		return true
	default:
		return false
	}
}

// TopicAstray returns the name of a topic that does not exist.
func TopicAstray(n int) string { return fmt.Sprintf("astray-%04d", n) }

// TopicLarge is the topic of large events, which does not exist at first.
const TopicLarge = "large"

// enqueueAsked enqueues the events that the driver requests, until ctx ends.
func (b *bank) enqueueAsked(ctx context.Context) {
	for {
		select {
		case c := <-b.asked:
			for n := range c.Count {
				b.enqueueOne(ctx, c.Kind, n)
			}
		case <-ctx.Done():
			return
		}
	}
}

// enqueueOne enqueues an event, and tries again with another event if its transaction fails.
func (b *bank) enqueueOne(ctx context.Context, kind string, n int) {
	const noWhim = 99
	for ctx.Err() == nil {
		e, err := drawExtra(kind, n)
		if err != nil {
			b.log.ErrorContext(ctx, "no event", slog.Any("error", err))
			return
		}
		if err = b.transact(ctx, e, noWhim); err == nil {
			return
		}
		b.log.WarnContext(ctx, "event not enqueued", slog.String("kind", kind), slog.Any("error", err))
		wait.Full(ctx, 50*time.Millisecond)
	}
}

// drawExtra makes up event n of a kind.
func drawExtra(kind string, n int) (event, error) {
	id, err := outbox.NewID()
	if err != nil {
		return event{}, fmt.Errorf("make an id: %w", err)
	}
	e := event{ID: id, Kind: kind, At: time.Now().UnixMicro(), From: KeyOf(kind) + strconv.Itoa(n)}
	switch kind {
	case KindAstray:
		e.Topic = TopicAstray(n)
	case KindLarge:
		e.Topic, e.Pad = TopicLarge, strings.Repeat("x", largeBytes)
	case KindTooLarge:
		e.Pad = strings.Repeat("x", largeBytes)
	case KindLongIDTooLarge:
		e.ID, e.Pad = longID(id), strings.Repeat("x", largeBytes)
	case KindLongIDPoison:
		e.ID = longID(id)
	case KindLongID:
		e.ID, e.Topic = longID(id), TopicNotices
	case KindHostile:
		e.headers = hostileHeaders()[n%len(hostileHeaders())]
	case KindTextTime:
	default:
		return event{}, fmt.Errorf("kind %q is not known", kind)
	}
	return e, nil
}

// KeyOf returns the prefix of the keys of events of a kind.
func KeyOf(kind string) string { return strings.ReplaceAll(kind, " ", "-") + "-" }

// longID returns an id of longIDBytes that begins with id.
func longID(id string) string {
	raw := make([]byte, longIDBytes)
	_, _ = rand.Read(raw)
	return (id + "-" + base64.RawURLEncoding.EncodeToString(raw))[:longIDBytes]
}
