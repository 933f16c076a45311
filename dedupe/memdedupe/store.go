package memdedupe

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/outbox"
)

// Config tunes a Store. The zero value is a good start.
type Config struct {
	// TTL is how long a record is remembered after its last change, at least 1 s.
	// Defaults to 24 h.
	TTL time.Duration
}

// Store keeps records in memory. It is safe for concurrent use and owns no
// goroutines: what has expired is removed as others come.
type Store struct {
	ttl time.Duration

	mu      sync.Mutex
	records map[dedupe.Key]*record
	swept   time.Time
}

var _ dedupe.Store = (*Store)(nil)

// record is one message: done, or held by token until leaseUntil.
type record struct {
	token       string
	attempt     int
	fingerprint string
	done        bool
	released    bool
	leaseUntil  time.Time
	forgetAt    time.Time
	result      []byte
}

// New returns an empty Store. Errors wrap outbox.ErrInvalidConfig.
func New(cfg Config) (*Store, error) {
	if cfg.TTL == 0 {
		cfg.TTL = 24 * time.Hour
	}
	if cfg.TTL < time.Second {
		return nil, outbox.ConfigError("TTL", cfg.TTL, "must be at least 1s")
	}
	return &Store{ttl: cfg.TTL, records: make(map[dedupe.Key]*record), swept: time.Now()}, nil
}

// Len returns the number of records, expired ones included that nobody has come
// across yet.
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

// find returns the record of key unless it has expired. The caller holds mu.
func (s *Store) find(key dedupe.Key, now time.Time) *record {
	s.sweep(now)
	r := s.records[key]
	if r != nil && !now.Before(r.forgetAt) {
		delete(s.records, key)
		return nil
	}
	return r
}

// sweep removes what has expired, once in a sixteenth of TTL.
func (s *Store) sweep(now time.Time) {
	if now.Sub(s.swept) < s.ttl/16 {
		return
	}
	s.swept = now
	for key, r := range s.records {
		if !now.Before(r.forgetAt) {
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
	if r == nil {
		r = &record{fingerprint: req.Fingerprint, released: true}
		s.records[key] = r
	}
	held := !r.done && !r.released && now.Before(r.leaseUntil)
	switch {
	case r.fingerprint != "" && req.Fingerprint != "" && r.fingerprint != req.Fingerprint:
		return dedupe.Claim{Status: dedupe.Mismatch}, nil
	case r.done:
		return dedupe.Claim{Status: dedupe.Done, Attempt: r.attempt, Result: bytes.Clone(r.result)}, nil
	case held && r.token == req.Token:
		return dedupe.Claim{Status: dedupe.Claimed, Attempt: r.attempt}, nil
	case held:
		return dedupe.Claim{Status: dedupe.Busy, Attempt: r.attempt, Remaining: r.leaseUntil.Sub(now)}, nil
	}
	takeover := !r.released
	r.token, r.released = req.Token, false
	r.attempt++
	r.leaseUntil, r.forgetAt = now.Add(req.Lease), now.Add(max(s.ttl, req.Lease))
	return dedupe.Claim{Status: dedupe.Claimed, Takeover: takeover, Attempt: r.attempt}, nil
}

// Extend implements dedupe.Store.
func (s *Store) Extend(ctx context.Context, key dedupe.Key, token string, lease time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	r := s.find(key, now)
	if r == nil || r.token != token || r.done || r.released {
		return dedupe.ErrFenced
	}
	r.leaseUntil, r.forgetAt = now.Add(lease), now.Add(max(s.ttl, lease))
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
	completion := dedupe.Completed
	switch {
	case r == nil:
		r = &record{token: token, attempt: 1}
		s.records[key] = r
		completion = dedupe.Resurrected
	case r.done && r.token != token:
		return dedupe.FencedDone, nil
	case r.done:
		return dedupe.Completed, nil
	case r.released:
		completion = dedupe.Late
	case r.token != token:
		return dedupe.Fenced, nil
	}
	r.token, r.done, r.released = token, true, false
	r.result, r.forgetAt = bytes.Clone(result), now.Add(s.ttl)
	return completion, nil
}

// Release implements dedupe.Store.
func (s *Store) Release(ctx context.Context, key dedupe.Key, token string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if r := s.find(key, now); r != nil && r.token == token && !r.done {
		r.released, r.forgetAt = true, now.Add(s.ttl)
	}
	return nil
}
