package memoutbox

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// brokenKeys are the ways of losing the order of a key.
func brokenKeys() []negative {
	return []negative{
		{"keys are held for one statement", brieflyHeldKeys, map[string]string{
			"O5_KeyOrderIsCommitOrder": "key \"key",
		}},
		{"keys are locked as a collation compares them", collatedLocks, map[string]string{
			"O5_KeysAreBytes": "while a transaction holds",
		}},
		{"keys are stored as a collation compares them", collatedKeys, map[string]string{
			"O5_KeysAreBytes": "read a record with key",
		}},
		{"keys are not read", unreadKeys, map[string]string{
			"Relay_O5_NothingPassesAFailedRecord": "want [m-1 m-2 m-3",
		}},
	}
}

// brieflyHeldKeys gives the keys up with the end of each Enqueue, as locks of a statement
// would. The transactions then go on for different times, so that others overtake them.
func brieflyHeldKeys(c *control) {
	var calls atomic.Int64
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		if err := c.Enqueue(ctx, tx, msgs...); err != nil {
			return err
		}
		c.mu.Lock()
		c.locks.release(tx)
		c.mu.Unlock()
		select {
		case <-time.After(time.Duration(calls.Add(1)%5) * time.Millisecond):
		case <-ctx.Done():
		}
		return nil
	}
}

// collate makes keys alike that differ in case or in trailing blanks only.
func collate(key string) string { return strings.ToLower(strings.TrimRight(key, " ")) }

// collatedLocks also takes the lock that the key shares with those that are like it.
func collatedLocks(c *control) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		for i := range msgs {
			if err := tx.lockKey(ctx, collate(msgs[i].Key)); err != nil {
				return err
			}
		}
		return c.Enqueue(ctx, tx, msgs...)
	}
}

// collatedKeys returns records with the first of the keys that are alike, as rows of a
// table of keys would.
func collatedKeys(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			p, err := s.Read(ctx, limit)
			for i := range p.Records {
				p.Records[i].Key = collate(p.Records[i].Key)
			}
			return p, err
		}}
	}
}

// unreadKeys returns records without their keys: to the relay, each is on its own.
func unreadKeys(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			p, err := s.Read(ctx, limit)
			for i := range p.Records {
				p.Records[i].Key = ""
			}
			return p, err
		}}
	}
}
