package dedupetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/internal/basis"
)

var (
	errLost    = errors.New("the answer is lost")
	errRefused = errors.New("the call does not arrive")
	errHandler = errors.New("the handler fails")
)

// line is the connection to a store: each call can be refused, or lose its answer.
type line struct {
	Subject

	claim, extend, complete atomic.Pointer[error]
}

// broken makes a call in the way that p asks for: unchanged, made and then answered with err, or
// not made and answered with err.
func broken(p *atomic.Pointer[error], call func() error) error {
	err := p.Load()
	if err != nil && errors.Is(*err, errRefused) {
		return *err
	}
	if done := call(); done != nil || err == nil {
		return done
	}
	return *err
}

// Claim implements dedupe.Store.
func (l *line) Claim(ctx context.Context, key dedupe.Key, req dedupe.Request) (c dedupe.Claim, err error) {
	err = broken(&l.claim, func() (err error) { c, err = l.Subject.Claim(ctx, key, req); return err })
	return c, err
}

// Extend implements dedupe.Store.
func (l *line) Extend(ctx context.Context, key dedupe.Key, token string, lease time.Duration) error {
	return broken(&l.extend, func() error { return l.Subject.Extend(ctx, key, token, lease) })
}

// Complete implements dedupe.Store.
func (l *line) Complete(ctx context.Context, key dedupe.Key, token string, result []byte) (c dedupe.Completion, err error) {
	err = broken(&l.complete, func() (err error) { c, err = l.Subject.Complete(ctx, key, token, result); return err })
	return c, err
}

// consumer delivers messages to a handler that counts.
type consumer struct {
	*dedupe.Processor

	runs int
}

func newConsumer(s dedupe.Store, cfg dedupe.Config) (*consumer, error) {
	cfg.BusyDelay = -1
	p, err := dedupe.New(s, "c", cfg)
	return &consumer{Processor: p}, err
}

// deliver delivers id to inside, and compares the outcome.
func (c *consumer) deliver(ctx context.Context, id string, inside func(ctx context.Context) error, want dedupe.Outcome, wantErr error) error {
	res, err := c.Do(ctx, dedupe.Message{ID: id}, func(ctx context.Context) ([]byte, error) {
		c.runs++
		return []byte("result"), inside(ctx)
	})
	if !errors.Is(err, wantErr) || (err == nil) != (wantErr == nil) {
		return fmt.Errorf("delivery of %s: got error %w, want %w", id, orNone(err), orNone(wantErr))
	}
	if res.Outcome != want {
		return fmt.Errorf("delivery of %s: it %s, want %s", id, res.Outcome, want)
	}
	return nil
}

func (c *consumer) ran(want int) error {
	if c.runs != want {
		return fmt.Errorf("the handler ran %d times, want %d", c.runs, want)
	}
	return nil
}

func fine(context.Context) error { return nil }

// noAckWithoutARun loses answers and calls: every acknowledged message has run.
func noAckWithoutARun(ctx context.Context, s Subject) error {
	l := &line{Subject: s}
	c, err := newConsumer(l, dedupe.Config{})
	if err != nil {
		return err
	}
	// The answer to the claim is lost: nothing runs, and while the lease lasts nothing is
	// acknowledged.
	l.claim.Store(&errLost)
	err = c.deliver(ctx, "claim", fine, dedupe.OutcomeUnavailable, dedupe.ErrUnavailable)
	l.claim.Store(nil)
	err = errors.Join(err, c.deliver(ctx, "claim", fine, dedupe.OutcomeBusy, dedupe.ErrBusy), c.ran(0))
	// The answer to the completion is lost: the message is found to be done.
	l.complete.Store(&errLost)
	err = errors.Join(err, c.deliver(ctx, "done", fine, dedupe.OutcomeUnavailable, dedupe.ErrUnavailable))
	l.complete.Store(nil)
	err = errors.Join(err, c.deliver(ctx, "done", fine, dedupe.OutcomeDuplicate, nil), c.ran(1))
	// A completion that does not arrive: not acknowledged.
	l.complete.Store(&errRefused)
	err = errors.Join(err, c.deliver(ctx, "undone", fine, dedupe.OutcomeUnavailable, dedupe.ErrUnavailable))
	l.complete.Store(nil)
	err = errors.Join(err, c.deliver(ctx, "undone", fine, dedupe.OutcomeBusy, dedupe.ErrBusy), c.ran(2))
	// A handler that fails runs again, at once.
	fail := func(context.Context) error { return errHandler }
	return errors.Join(err,
		c.deliver(ctx, "failed", fail, dedupe.OutcomeFailed, errHandler),
		c.deliver(ctx, "failed", fine, dedupe.OutcomeRan, nil),
		c.deliver(ctx, "failed", fine, dedupe.OutcomeDuplicate, nil), c.ran(4))
}

// lossCostsARepeat loses the record while the handler runs, and after it has run.
func lossCostsARepeat(ctx context.Context, s Subject) error {
	c, err := newConsumer(s, dedupe.Config{})
	if err != nil {
		return err
	}
	lose := func(ctx context.Context) error { return s.Lose(ctx, key("m")) }
	return errors.Join(
		c.deliver(ctx, "m", lose, dedupe.OutcomeRan, nil),
		c.deliver(ctx, "m", fine, dedupe.OutcomeDuplicate, nil),
		c.ran(1),
		s.Lose(ctx, key("m")),
		c.deliver(ctx, "m", fine, dedupe.OutcomeRan, nil),
		c.deliver(ctx, "m", fine, dedupe.OutcomeDuplicate, nil),
		c.ran(2))
}

// cancelledBeforeTakeover makes Extend fail: when the handler's context ends, no other run can
// have taken over yet. An attempt is repeated if the test's process was paused for so long that
// this can no longer be observed.
func cancelledBeforeTakeover(ctx context.Context, s Subject) error {
	const lease, margin = 1500 * time.Millisecond, 900 * time.Millisecond
	for attempt := 0; ; attempt++ {
		l := &line{Subject: s}
		l.extend.Store(&errRefused)
		c, err := newConsumer(l, dedupe.Config{Lease: lease, Margin: margin})
		if err != nil {
			return err
		}
		k, asked, seen := key(fmt.Sprint("m", attempt)), time.Now(), false
		var wrong error // the engine's own error would hide it
		err = c.deliver(ctx, k.ID, func(ctx context.Context) error {
			<-ctx.Done()
			got, err := claim(context.WithoutCancel(ctx), s, k, "other", long)
			switch seen = time.Since(asked) < lease; {
			case err != nil:
				wrong = err
			case got.Status != dedupe.Busy && seen:
				wrong = fmt.Errorf("the lease was %s before its end, and another claim of it answered %s", lease-time.Since(asked), got.Status)
			}
			return context.Cause(ctx)
		}, dedupe.OutcomeFailed, dedupe.ErrLeaseLost)
		if err = errors.Join(err, wrong); err != nil || seen {
			return err
		}
	}
}

// otherIDsAreRefused uses ids of two sources, each through its own Processor, as two processes do. The ids
// of the second are refused as long as the record of the first exists.
func otherIDsAreRefused(ctx context.Context, s Subject) error {
	name := func(consumer, source string) error {
		p, err := dedupe.New(s, consumer, dedupe.Config{BusyDelay: -1})
		if err != nil {
			return err
		}
		return p.NameIDs(ctx, source)
	}
	if err := errors.Join(name("c", "uuid"), name("c", "uuid"), name("d", "header x")); err != nil {
		return fmt.Errorf("name the source of ids: %w", err)
	}
	for consumer, source := range map[string]string{"c": "header x", "d": "uuid"} {
		if err := name(consumer, source); !errors.Is(err, basis.ErrOtherIDs) {
			return fmt.Errorf("ids of consumer %s by %s: error %w, want %w", consumer, source, orNone(err), basis.ErrOtherIDs)
		}
	}
	return errors.Join(name("c", "uuid"), name("d", "header x"))
}
