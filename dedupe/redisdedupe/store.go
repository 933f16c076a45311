package redisdedupe

import (
	"context"
	_ "embed" // of the scripts
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/outbox"
)

//go:embed lua/claim.lua
var claimLua string

//go:embed lua/extend.lua
var extendLua string

//go:embed lua/complete.lua
var completeLua string

//go:embed lua/release.lua
var releaseLua string

// errAnswer is returned for an answer that none of our scripts gives.
var errAnswer = errors.New("leat: redis gave an unexpected answer")

// Store keeps dedupe records in Redis. It is safe for concurrent use, owns no
// goroutines and needs no Close; the client is the caller's.
type Store struct {
	client                            redis.UniversalClient
	cfg                               Config
	claim, extend, complete, released *redis.Script

	checked  atomic.Bool // Check has passed, or could not tell
	compares atomic.Bool // the server compares and sets, see replace
	held     held
}

var _ dedupe.Store = (*Store)(nil)

// New returns a Store on client, which may be standalone, sentinel or cluster.
// It does not connect: the first Claim does, or Check before. Errors wrap
// outbox.ErrInvalidConfig.
func New(client redis.UniversalClient, cfg Config) (*Store, error) {
	if client == nil {
		return nil, outbox.ConfigError("client", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Store{
		client: client, cfg: cfg,
		claim: redis.NewScript(claimLua), extend: redis.NewScript(extendLua),
		complete: redis.NewScript(completeLua), released: redis.NewScript(releaseLua),
	}, nil
}

// key returns the name of the record. The length in it distinguishes "a:b" and "c" from "a" and
// "b:c".
func (s *Store) key(k dedupe.Key) string {
	return s.cfg.Prefix + strconv.Itoa(len(k.Consumer)) + ":" + k.Consumer + ":" + k.ID
}

// Claim implements dedupe.Store: one round trip, or two if there is a record. The first Claim
// checks the server as Check does, and returns errors such as ErrEviction until that passes.
func (s *Store) Claim(ctx context.Context, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
	if err := check(req.Token, req.Lease); err != nil {
		return dedupe.Claim{}, err
	}
	if err := s.checkOnce(ctx); err != nil {
		return dedupe.Claim{}, err
	}
	lease := req.Lease.Milliseconds()
	ttl := max(s.cfg.TTL.Milliseconds(), 4*lease)
	fingerprint := printOf(req.Fingerprint)
	name := s.key(key)
	value := claimValue(req.Token, 1, lease, ttl, fingerprint)
	err := s.client.Do(ctx, "SET", name, value, "NX", "PX", ttl).Err()
	if err == nil {
		s.remember(name, value)
		return dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}, nil
	}
	// With full memory SET is refused even if NX would not write: a message that is done can
	// still be found.
	if !errors.Is(err, redis.Nil) && !strings.HasPrefix(err.Error(), "OOM ") {
		return dedupe.Claim{}, fmt.Errorf("leat: redis claim: %w", err)
	}
	answer, err := s.claim.Run(ctx, s.client, []string{name}, req.Token, lease, ttl, fingerprint).Slice()
	if err != nil {
		return dedupe.Claim{}, fmt.Errorf("leat: redis claim: %w", err)
	}
	claim, err := readClaim(answer)
	if err == nil && claim.Status == dedupe.Claimed {
		s.remember(name, claimValue(req.Token, claim.Attempt, lease, ttl, fingerprint))
	}
	return claim, err
}

func readClaim(answer []any) (dedupe.Claim, error) {
	var n [3]int64
	if len(answer) < len(n) {
		return dedupe.Claim{}, notClaim(answer)
	}
	for i := range n {
		v, ok := answer[i].(int64)
		if !ok {
			return dedupe.Claim{}, notClaim(answer)
		}
		n[i] = v
	}
	c := dedupe.Claim{Status: dedupe.Status(n[0]), Attempt: int(n[1])}
	switch c.Status {
	case dedupe.Claimed:
		c.Takeover = n[2] == 1
	case dedupe.Busy:
		if n[2] < 0 || n[2] > math.MaxInt64/int64(time.Millisecond) {
			return dedupe.Claim{}, notClaim(answer)
		}
		c.Remaining = time.Duration(n[2]) * time.Millisecond
	case dedupe.Done:
		if len(answer) > 3 {
			if result, ok := answer[3].(string); ok && result != "" {
				c.Result = []byte(result)
			}
		}
	case dedupe.Mismatch:
	default:
		return dedupe.Claim{}, notClaim(answer)
	}
	return c, nil
}

// notClaim returns an error with the beginning of answer: the rest may be a result of any size.
func notClaim(answer []any) error {
	return fmt.Errorf("%w to a claim: %.200q", errAnswer, fmt.Sprint(answer...))
}

// Extend implements dedupe.Store.
func (s *Store) Extend(ctx context.Context, key dedupe.Key, token string, lease time.Duration) error {
	if err := check(token, lease); err != nil {
		return err
	}
	held, err := s.extend.Run(ctx, s.client, []string{s.key(key)}, token, lease.Milliseconds()).Int()
	switch {
	case err != nil:
		return fmt.Errorf("leat: redis extend: %w", err)
	case held != 1:
		return dedupe.ErrFenced
	default:
		return nil
	}
}

// Complete implements dedupe.Store. A result is not kept if it exceeds Config.MaxResultBytes or
// Redis has no memory for it.
func (s *Store) Complete(ctx context.Context, key dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
	if err := check(token, time.Millisecond); err != nil {
		return 0, err
	}
	if len(result) > s.cfg.MaxResultBytes {
		result = nil
	}
	name := s.key(key)
	switch done, err := s.replace(ctx, name, token, "D", "\n"+string(result)); {
	case err != nil:
		return 0, fmt.Errorf("leat: redis complete: %w", err)
	case done:
		return dedupe.Completed, nil
	}
	n, err := s.complete.Run(ctx, s.client, []string{name}, token, s.cfg.TTL.Milliseconds(), result).Int()
	if err != nil {
		return 0, fmt.Errorf("leat: redis complete: %w", err)
	}
	c := dedupe.Completion(n)
	if c < dedupe.Completed || c > dedupe.Resurrected {
		return 0, fmt.Errorf("%w: %d", errAnswer, n)
	}
	return c, nil
}

// Release implements dedupe.Store.
func (s *Store) Release(ctx context.Context, key dedupe.Key, token string) error {
	if err := check(token, time.Millisecond); err != nil {
		return err
	}
	name := s.key(key)
	switch done, err := s.replace(ctx, name, token, "F", ""); {
	case err != nil:
		return fmt.Errorf("leat: redis release: %w", err)
	case done:
		return nil
	}
	if err := s.released.Run(ctx, s.client, []string{name}, token, s.cfg.TTL.Milliseconds()).Err(); err != nil {
		return fmt.Errorf("leat: redis release: %w", err)
	}
	return nil
}

// check refuses tokens and leases that a record cannot hold.
func check(token string, lease time.Duration) error {
	if token == "" || strings.ContainsFunc(token, notPrintable) {
		return fmt.Errorf("%w: token %.100q is empty or has other than printable ASCII characters", dedupe.ErrInvalidKey, token)
	}
	if lease < time.Millisecond {
		return fmt.Errorf("%w: lease %s is below 1ms", dedupe.ErrInvalidKey, lease)
	}
	return nil
}

// notPrintable reports whether the scripts could take r for the end of a token. They match by
// character classes, and a class of spaces has more members than expected.
func notPrintable(r rune) bool { return r <= ' ' || r > '~' }

// printOf returns fingerprint in a form that a record can hold.
func printOf(fingerprint string) string {
	if len(fingerprint) <= 64 && strings.Trim(fingerprint, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == "" {
		return fingerprint
	}
	return dedupe.Fingerprint([]byte(fingerprint))
}
