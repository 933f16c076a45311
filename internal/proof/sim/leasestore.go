package sim

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/leat-go/leat/dedupe"
)

// leaseStore is a process's view of the store of leases.
type leaseStore struct {
	l    *leases
	node *Node
}

var _ dedupe.Store = leaseStore{}

// token numbers tokens in the order of their first use, so that histories are reproducible.
func (l *leases) token(t string) string {
	if l.tokens[t] == "" {
		l.tokens[t] = "token" + strconv.Itoa(len(l.tokens)+1)
	}
	return l.tokens[t]
}

func (s leaseStore) note(what What, key dedupe.Key, token string, lease time.Duration) {
	s.l.w.note(Event{What: what, Node: s.node.name, ID: key.ID, N: int64(lease), Note: s.l.token(token)})
}

// ask makes a call to the store.
func (s leaseStore) ask(ctx context.Context, name string, key dedupe.Key, effect func() error) error {
	return s.node.do(ctx, op{name: name, faulty: true, stalls: true, late: true}, key.ID, effect)
}

// Claim implements dedupe.Store.
func (s leaseStore) Claim(ctx context.Context, key dedupe.Key, req dedupe.Request) (c dedupe.Claim, err error) {
	far := context.WithoutCancel(ctx)
	err = s.ask(ctx, "claim", key, func() error {
		var err error
		if c, err = s.l.store.Claim(far, key, req); err != nil {
			return err
		}
		if c.Status == dedupe.Busy && s.l.w.broken == EarlyTakeover {
			s.l.store.Forget(key)
			c, err = s.l.store.Claim(far, key, req)
			c.Takeover = true
		}
		if c.Status == dedupe.Busy && s.l.w.broken == BusyIsDone || c.Takeover && s.l.w.broken == DoneByExpiry {
			c = dedupe.Claim{Status: dedupe.Done}
		}
		if c.Status == dedupe.Claimed {
			s.note(Claimed, key, req.Token, req.Lease)
		}
		if c.Status == dedupe.Claimed && s.l.w.broken == DoneFirst {
			_, err = s.l.store.Complete(far, key, req.Token, nil)
			s.note(Completed, key, req.Token, 0)
		}
		if c.Takeover {
			s.overlap(key)
		}
		return err
	})
	return c, err
}

// overlap records runs of key whose contexts have not ended: they still believe that they own the
// message.
func (s leaseStore) overlap(key dedupe.Key) {
	for _, r := range s.l.runs[key.ID] {
		if !r.node.dead && r.ctx.Err() == nil {
			s.l.w.note(Event{What: Overlap, Node: r.node.name, ID: key.ID})
		}
	}
}

// Extend implements dedupe.Store.
func (s leaseStore) Extend(ctx context.Context, key dedupe.Key, token string, lease time.Duration) error {
	if s.l.w.broken == LeaseUnheard {
		return nil
	}
	far := context.WithoutCancel(ctx)
	return s.ask(ctx, "extend", key, func() error {
		err := s.l.store.Extend(far, key, token, lease)
		if errors.Is(err, dedupe.ErrFenced) && s.l.w.broken == UnfencedExtend {
			err = nil
		}
		if err == nil {
			s.note(Extended, key, token, lease)
		}
		return err
	})
}

// Complete implements dedupe.Store.
func (s leaseStore) Complete(ctx context.Context, key dedupe.Key, token string, result []byte) (c dedupe.Completion, err error) {
	far := context.WithoutCancel(ctx)
	err = s.ask(ctx, "complete", key, func() error {
		var err error
		c, err = s.l.store.Complete(far, key, token, result)
		if err != nil {
			return err
		}
		if c == dedupe.Fenced && s.l.w.broken == UnfencedComplete {
			c = dedupe.Completed
		}
		if c != dedupe.Fenced && c != dedupe.FencedDone {
			s.note(Completed, key, token, 0)
		}
		if s.l.w.broken == ForgetsDone {
			s.l.store.Forget(key)
		}
		return nil
	})
	return c, err
}

// Release implements dedupe.Store.
func (s leaseStore) Release(ctx context.Context, key dedupe.Key, token string) error {
	far := context.WithoutCancel(ctx)
	return s.ask(ctx, "release", key, func() error {
		s.note(Released, key, token, 0)
		if s.l.w.broken == ReleasesAny {
			s.l.store.Forget(key)
		}
		return s.l.store.Release(far, key, token)
	})
}
