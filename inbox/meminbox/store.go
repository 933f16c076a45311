package meminbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/ids"
)

// Store is the memory that inboxes share, as processes share a database. The
// zero Store is empty and ready to use. It is safe for concurrent use and must
// not be copied.
type Store struct {
	mu   sync.Mutex
	rows map[row]claimed

	consumers map[string]time.Time // times of their first messages
	ids       map[string]string    // sources of the ids of consumers
	attempts  map[row]*driver.History
	notes     map[row]driver.Note
	parked    []*parked // in the order in which they were parked
	lastNo    int64
	audit     []admin.AuditEntry // the oldest first
	marks     map[driver.GroupTopic]map[int32]driver.Mark
}

// claimed is the state of a message that was claimed.
type claimed struct {
	committed bool
	at        time.Time // when it was committed
}

// row identifies a message that an inbox remembers.
type row struct {
	consumer string
	id       ids.UUID
}

// Recorded reports whether a transaction in which consumer processed the message
// called id has committed.
func (s *Store) Recorded(consumer, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[newRow(consumer, id)].committed
}

func newRow(consumer, id string) row {
	stored, _ := ids.Map(id)
	return row{consumer: consumer, id: stored}
}

// claim claims r for a transaction that is about to begin.
func (s *Store) claim(r row) driver.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.register(r.consumer)
	known, found := s.rows[r]
	switch {
	case known.committed:
		return driver.Duplicate
	case found:
		return driver.Busy
	}
	if s.rows == nil {
		s.rows = make(map[row]claimed)
	}
	s.rows[r] = claimed{}
	return driver.Claimed
}

// register remembers a consumer from its first message on. The caller holds the lock.
func (s *Store) register(consumer string) {
	if _, known := s.consumers[consumer]; known {
		return
	}
	if s.consumers == nil {
		s.consumers = map[string]time.Time{}
	}
	s.consumers[consumer] = time.Now()
}

// record records that r took effect or was given up. The caller holds the lock.
func (s *Store) record(r row) {
	if s.rows == nil {
		s.rows = make(map[row]claimed)
	}
	s.rows[r] = claimed{committed: true, at: time.Now()}
}

// commit makes r and the effects visible at the same time, to readers under the same mutex.
func (s *Store) commit(r row, effects []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, effect := range effects {
		effect()
	}
	s.record(r)
}

func (s *Store) release(r row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, r)
}

// claims is one consumer's driver.Store.
type claims struct {
	store    *Store
	consumer string
	join     func(ctx context.Context) (Joined, error)
}

// Claim implements driver.Store.
func (c claims) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	r := newRow(c.consumer, id)
	if status := c.store.claim(r); status != driver.Claimed {
		return nil, status, nil
	}
	u := &unit{store: c.store, row: r, tx: &transaction{}}
	if err := c.take(ctx, u); err != nil {
		return nil, 0, err
	}
	return u, driver.Claimed, nil
}

// take begins the joined transaction of u.
func (c claims) take(ctx context.Context, u *unit) error {
	if c.join == nil {
		return nil
	}
	joined, err := c.join(ctx)
	if err == nil && joined == nil {
		err = errors.New("leat: Config.Join returned no transaction")
	}
	if err != nil {
		u.release()
		return err
	}
	u.joined = joined
	return nil
}

// NameIDs implements driver.IDNamer.
func (c claims) NameIDs(_ context.Context, name string) (noted string, remembered int64, err error) {
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if noted = s.ids[c.consumer]; noted != "" && noted != name {
		for r := range s.rows {
			if r.consumer == c.consumer {
				remembered++
			}
		}
	}
	if remembered == 0 {
		if s.ids == nil {
			s.ids = map[string]string{}
		}
		s.ids[c.consumer] = name
	}
	return noted, remembered, nil
}

// Consumer returns the store of one consumer, for inbox.New.
func (s *Store) Consumer(name string) driver.Parker {
	return claims{store: s, consumer: name}
}
