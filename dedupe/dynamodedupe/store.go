package dynamodedupe

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/internal/records"
	"github.com/leat-go/leat/outbox"
)

// MaxResultBytes is the largest result that a record takes: an item has at most 400 KB.
const MaxResultBytes = 350 << 10

// Store keeps dedupe records in a table of DynamoDB. It is safe for concurrent use, owns no
// goroutines and needs no Close; the client is the caller's, with its retry settings.
type Store struct {
	db  *dynamodb.Client
	cfg Config
}

var _ dedupe.Store = (*Store)(nil)

// New returns a Store in a table. It does not connect: call Setup once, for example at
// start-up. Errors wrap outbox.ErrInvalidConfig.
func New(client *dynamodb.Client, cfg Config) (*Store, error) {
	if client == nil {
		return nil, outbox.ConfigError("client", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Store{db: client, cfg: cfg}, nil
}

// Claim implements dedupe.Store.
func (s *Store) Claim(ctx context.Context, key dedupe.Key, req dedupe.Request) (c dedupe.Claim, err error) {
	if req.Token == "" || req.Lease < time.Millisecond {
		return c, fmt.Errorf("%w: token %q, lease %s", dedupe.ErrInvalidKey, req.Token, req.Lease)
	}
	seen, err := s.run(ctx, step{"claim", key, req.Lease, func(r *records.Record, now time.Time) (changed bool) {
		c, changed = r.Claim(req, now, s.cfg.TTL)
		return changed
	}})
	c.Remaining = min(c.Remaining, seen) // anything longer is only the uncertainty of the clock
	return c, err
}

// Extend implements dedupe.Store.
func (s *Store) Extend(ctx context.Context, key dedupe.Key, token string, lease time.Duration) error {
	held := false
	_, err := s.run(ctx, step{"extend", key, lease, func(r *records.Record, now time.Time) bool {
		held = r.Extend(token, lease, now, s.cfg.TTL)
		return held
	}})
	if err == nil && !held {
		return dedupe.ErrFenced
	}
	return err
}

// Complete implements dedupe.Store. A result of more than MaxResultBytes is not kept: a
// duplicate of the message gets none.
func (s *Store) Complete(ctx context.Context, key dedupe.Key, token string, result []byte) (c dedupe.Completion, err error) {
	if len(result) > MaxResultBytes {
		result = nil
	}
	_, err = s.run(ctx, step{"complete", key, 0, func(r *records.Record, now time.Time) (changed bool) {
		c, changed = r.Complete(token, result, now, s.cfg.TTL)
		return changed
	}})
	return c, err
}

// Release implements dedupe.Store.
func (s *Store) Release(ctx context.Context, key dedupe.Key, token string) error {
	_, err := s.run(ctx, step{"release", key, 0, func(r *records.Record, now time.Time) bool {
		return r.Release(token, now, s.cfg.TTL)
	}})
	return err
}
