package memoutbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
)

// least promises as little as an outbox can.
func least() outboxtest.Features {
	return outboxtest.Features{
		OneWriter: true, NoKeyOrder: true, NoDelay: true, NoWakes: true, LazyAdvance: true, NoHolder: true, NoSlots: true,
		FixedSlots: true, NoStarts: true, NoTopics: true, NoPositions: true, NoHistory: true, NoReplay: true, NoRetention: true,
		NoTakeover: true,
	}
}

// fewer are subjects that lack something, and say so.
func fewer() map[string]struct {
	features outboxtest.Features
	subject  func(t *testing.T) outboxtest.Subject
} {
	type lacking = struct {
		features outboxtest.Features
		subject  func(t *testing.T) outboxtest.Subject
	}
	return map[string]lacking{
		"one writer":   {outboxtest.Features{OneWriter: true}, func(t *testing.T) outboxtest.Subject { t.Helper(); return broken(t, oneWriter) }},
		"no delay":     {outboxtest.Features{NoDelay: true}, func(t *testing.T) outboxtest.Subject { t.Helper(); return broken(t, refusesDelays) }},
		"no key order": {outboxtest.Features{NoKeyOrder: true}, func(t *testing.T) outboxtest.Subject { t.Helper(); return broken(t, unheldKeys) }},
		"no history":   {outboxtest.Features{NoHistory: true}, func(t *testing.T) outboxtest.Subject { t.Helper(); return broken(t, keepsNoHistory) }},
		"least":        {least(), func(t *testing.T) outboxtest.Subject { t.Helper(); return plain(t) }},
		"no slots, no sinks' positions, nothing set aside": {
			outboxtest.Features{NoWakes: true, NoHolder: true, NoSlots: true, NoStarts: true, NoTopics: true, NoPositions: true, NoReplay: true, NoRetention: true, NoTakeover: true},
			func(t *testing.T) outboxtest.Subject { t.Helper(); return delayingSubject(t) },
		},
	}
}

// TestFewerFeatures: an outbox that can do less passes the checks that are left, and there
// is nothing that it does not claim.
func TestFewerFeatures(t *testing.T) {
	t.Parallel()
	for name, lacking := range fewer() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, check := range append(outboxtest.Checks(lacking.features), outboxtest.RelayChecks(lacking.features)...) {
				t.Run(check.Name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						require.NoError(t, check.Run(t.Context(), lacking.features, lacking.subject(t)))
					})
				})
			}
			t.Run("Features", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					table, err := outboxtest.Claims(t.Context(), lacking.features, lacking.subject(t))
					require.NoError(t, err)
					t.Log("\n" + table)
					require.Contains(t, table, "impossible")
				})
			})
		})
	}
}

// TestNegativeControls_Claims: an outbox that has what its features rule out is told so.
func TestNegativeControls_Claims(t *testing.T) {
	t.Parallel()
	for feature, f := range map[string]outboxtest.Features{
		"several writers": {OneWriter: true}, "key order": {NoKeyOrder: true}, "delayed messages": {NoDelay: true},
		"wakes": {NoWakes: true}, "records set aside": {NoHolder: true}, "slots": {NoSlots: true}, "change of slots": {FixedSlots: true},
		"stated starts": {NoStarts: true}, "topic filters": {NoTopics: true}, "positions of sinks": {NoPositions: true},
		"history of settled records": {NoHistory: true}, "retention": {NoRetention: true}, "replay": {NoReplay: true},
	} {
		t.Run(feature, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				table, err := outboxtest.Claims(t.Context(), f, newControl(t))
				require.ErrorIs(t, err, outboxtest.ErrUnclaimed)
				require.EqualError(t, err, outboxtest.ErrUnclaimed.Error()+": "+feature)
				require.Contains(t, table, "NOT CLAIMED")
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		table, err := outboxtest.Claims(t.Context(), outboxtest.Features{}, newControl(t))
		require.NoError(t, err)
		require.NotContains(t, table, "NOT CLAIMED")
		_, err = outboxtest.Claims(t.Context(), outboxtest.Features{NoReplay: true}, &hiddenHistory{newControl(t).Outbox, newControl(t)})
		require.ErrorIs(t, err, outboxtest.ErrUnclaimed, "the outbox that the subject embeds has it")
	})
}

// hiddenHistory is not a Replayer, but its outbox replays.
type hiddenHistory struct {
	*Outbox

	inner *control
}

func (h *hiddenHistory) Begin(ctx context.Context) (outboxtest.Tx, error) { return h.inner.Begin(ctx) }

func (h *hiddenHistory) Source(group string) driver.Source { return h.inner.Source(group) }

// TestNegativeControls_DelayIsRefused: an outbox that takes a delayed message and sends it at once
// is worse than one that refuses it.
func TestNegativeControls_DelayIsRefused(t *testing.T) {
	t.Parallel()
	check, ok := outboxtest.Find("O1_DelayIsRefused")
	require.True(t, ok)
	synctest.Test(t, func(t *testing.T) {
		err := check.Run(t.Context(), outboxtest.Features{NoDelay: true}, broken(t, undelayed))
		require.ErrorContains(t, err, "no error, want leat: invalid message")
	})
}

// refusesDelays is an outbox that cannot delay.
func refusesDelays(c *control) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		for i := range msgs {
			if at := msgs[i].NotBefore; !at.IsZero() {
				return &outbox.InvalidMessageError{Index: i, Field: "NotBefore", Value: at.String(), Reason: "cannot be delayed"}
			}
		}
		return c.Enqueue(ctx, tx, msgs...)
	}
}

// keepsNoHistory begins every group where the one stands that is furthest behind.
func keepsNoHistory(c *control) {
	c.acquire = func(ctx context.Context, s *source, ttl time.Duration) (driver.Session, error) {
		c.mu.Lock()
		if h := s.sharing(); !h.started && len(c.groups) > 0 && !s.begin.IsStated() {
			h.started, h.begin = true, len(c.log)
			for _, g := range c.groups {
				h.begin = min(h.begin, g.pos.from)
			}
		}
		c.mu.Unlock()
		return s.Acquire(ctx, ttl)
	}
}

// plain is an outbox that has nothing but what every outbox must have.
func plain(t *testing.T) outboxtest.Subject {
	t.Helper()
	c := broken(t, oneWriter)
	refuses, forgets := broken(t, refusesDelays), broken(t, keepsNoHistory)
	refuses.Outbox, forgets.Outbox = c.Outbox, c.Outbox
	c.enqueue = refuses.enqueue
	session := c.acquire
	c.acquire = func(ctx context.Context, s *source, ttl time.Duration) (driver.Session, error) {
		c.mu.Lock()
		h := s.sharing()
		fresh := !h.started && len(c.groups) > 0
		c.mu.Unlock()
		if fresh {
			n, err := forgets.acquire(ctx, s, ttl)
			if err != nil {
				return nil, err
			}
			if err := n.Release(ctx); err != nil {
				return nil, err
			}
		}
		return session(ctx, s, ttl)
	}
	return plainSubject{c}
}

// plainSubject has no optional interface.
type plainSubject struct {
	outboxtest.Subject
}

func (s plainSubject) Source(group string) driver.Source {
	return plainSource{s.Subject.Source(group)}
}

// delayingSubject is a plainSubject that can delay.
func delayingSubject(t *testing.T) outboxtest.Subject {
	t.Helper()
	c := newControl(t)
	return struct {
		plainSubject
		outboxtest.Delayer
	}{plainSubject{c}, c}
}

// plainSource is a source and nothing more.
type plainSource struct {
	driver.Source
}

func (plainSource) Wakes(context.Context) <-chan struct{} { return nil }

func (s plainSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	n, err := s.Source.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return plainSession{n}, nil
}

// writerLock is held by a transaction from its beginning to its end.
type writerLock chan struct{}

func (l writerLock) take(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// within calls do while it has the lock.
func (l writerLock) within(ctx context.Context, do func() error) error {
	if err := l.take(ctx); err != nil {
		return err
	}
	defer func() { <-l }()
	return do()
}

// oneWriter is an outbox in which one transaction or relay writes at a time.
func oneWriter(c *control) {
	lock := make(writerLock, 1)
	c.begin = func(ctx context.Context) (outboxtest.Tx, error) {
		if err := lock.take(ctx); err != nil {
			return nil, err
		}
		tx, err := c.Outbox.Begin(ctx)
		if err != nil {
			<-lock
			return nil, err
		}
		return &soleTx{controlTx: controlTx{Tx: tx, c: c}, lock: lock}, nil
	}
	c.acquire = func(ctx context.Context, s *source, ttl time.Duration) (n driver.Session, err error) {
		err = lock.within(ctx, func() error {
			n, err = s.Acquire(ctx, ttl)
			return err
		})
		if err != nil {
			return nil, err
		}
		return soleSession(n.(*session), lock), nil
	}
}

// soleTx gives the lock back once.
type soleTx struct {
	controlTx

	lock  writerLock
	ended bool
}

func (t *soleTx) end() {
	if !t.ended {
		t.ended = true
		<-t.lock
	}
}

func (t *soleTx) Commit(ctx context.Context) error {
	defer t.end()
	return t.controlTx.Commit(ctx)
}

func (t *soleTx) Rollback(ctx context.Context) error {
	defer t.end()
	return t.controlTx.Rollback(ctx)
}

// soleSession writes under the lock.
func soleSession(s *session, lock writerLock) driver.Session {
	return controlSession{
		session: s,
		read: func(ctx context.Context, limit int) (p driver.Page, err error) {
			err = lock.within(ctx, func() error { p, err = s.Read(ctx, limit); return err })
			return p, err
		},
		advance: func(ctx context.Context, p driver.Page, n int) error {
			return lock.within(ctx, func() error { return s.Advance(ctx, p, n) })
		},
		renew: func(ctx context.Context, ttl time.Duration) error {
			return lock.within(ctx, func() error { return s.Renew(ctx, ttl) })
		},
		release: func(ctx context.Context) error {
			return lock.within(ctx, func() error { return s.Release(ctx) })
		},
		hold: func(ctx context.Context, p driver.Page, n int, h []driver.Holding) error {
			return lock.within(ctx, func() error { return s.Hold(ctx, p, n, slices.Clone(h)) })
		},
	}
}
