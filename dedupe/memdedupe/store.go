package memdedupe

import (
	"bytes"
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/internal/records"
	"github.com/leat-go/leat/outbox"
)

// Config tunes a Store. The zero value is a good start.
type Config struct {
	// TTL is how long a record is remembered after its last change, at least 1 s.
	// Defaults to 24 h.
	TTL time.Duration
}

// Store keeps records in memory. It is safe for concurrent use and owns no goroutines: expired
// records are removed as others are added.
type Store struct {
	ttl time.Duration

	mu      sync.Mutex
	records map[dedupe.Key]*records.Record
	swept   time.Time
}

var _ dedupe.Store = (*Store)(nil)

// New returns an empty Store. Errors wrap outbox.ErrInvalidConfig.
func New(cfg Config) (*Store, error) {
	cfg.TTL = cmp.Or(cfg.TTL, 24*time.Hour)
	if cfg.TTL < time.Second {
		return nil, outbox.ConfigError("TTL", cfg.TTL, "must be at least 1s")
	}
	return &Store{ttl: cfg.TTL, records: make(map[dedupe.Key]*records.Record), swept: time.Now()}, nil
}

// Len returns the number of records, including expired ones that were not removed yet.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records)
}

// Forget removes the record of key, as an eviction would.
func (s *Store) Forget(key dedupe.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, key)
}

// find returns the record of key, or the zero Record if there is none. The caller holds mu.
func (s *Store) find(key dedupe.Key, now time.Time) *records.Record {
	s.sweep(now)
	r := s.records[key]
	if r == nil {
		return &records.Record{}
	}
	if r.Expire(now); !r.Known {
		delete(s.records, key)
	}
	return r
}

// sweep removes expired records, at most once per sixteenth of TTL.
func (s *Store) sweep(now time.Time) {
	if now.Sub(s.swept) < s.ttl/16 {
		return
	}
	s.swept = now
	for key, r := range s.records {
		if !now.Before(r.ForgetAt) {
			delete(s.records, key)
		}
	}
}

// Claim implements dedupe.Store.
func (s *Store) Claim(ctx context.Context, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
	if err := ctx.Err(); err != nil {
		return dedupe.Claim{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	r := s.find(key, now)
	c, changed := r.Claim(req, now, s.ttl)
	if changed {
		s.records[key] = r
	}
	c.Result = bytes.Clone(c.Result)
	return c, nil
}

// Extend implements dedupe.Store.
func (s *Store) Extend(ctx context.Context, key dedupe.Key, token string, lease time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.find(key, now).Extend(token, lease, now, s.ttl) {
		return dedupe.ErrFenced
	}
	return nil
}

// Complete implements dedupe.Store.
func (s *Store) Complete(ctx context.Context, key dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	r := s.find(key, now)
	c, changed := r.Complete(token, bytes.Clone(result), now, s.ttl)
	if changed {
		s.records[key] = r
	}
	return c, nil
}

// Release implements dedupe.Store.
func (s *Store) Release(ctx context.Context, key dedupe.Key, token string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.find(key, now).Release(token, now, s.ttl)
	return nil
}
