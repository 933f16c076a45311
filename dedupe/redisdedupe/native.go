package redisdedupe

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// heldTurn is half the number of claims that are remembered at most, at some 300 bytes each. When
// there are too many, the older half is forgotten.
const heldTurn = 4096

// held remembers the values that this process has written for claims, so that a later step can
// compare the record with its value instead of parsing it in a script. It may forget a value:
// then the script runs. It is safe for concurrent use.
type held struct {
	mu          sync.Mutex
	recent, old map[string]string // values by the names of records
}

// put remembers the value of a claim.
func (h *held) put(name, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.recent) >= heldTurn {
		h.recent, h.old = nil, h.recent
	}
	if h.recent == nil {
		h.recent = map[string]string{}
	}
	h.recent[name] = value
}

// take forgets the value of token's claim and returns it, or "".
func (h *held) take(name, token string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, claims := range []map[string]string{h.recent, h.old} {
		if value := claims[name]; strings.HasPrefix(value, "P "+token+" ") {
			delete(claims, name)
			return value
		}
	}
	return ""
}

// canCompare asks the server whether SET supports IFEQ, by a comparison that never holds: Valkey
// from 8.1 on, and Redis from 8.4 on, write nothing. Other servers refuse the word, and a server
// that ignores it counts as one that does not support it. Without an answer it returns an error.
func (s *Store) canCompare(ctx context.Context) (bool, error) {
	err := s.client.Do(ctx, "SET", s.cfg.Prefix+"probe", "", "IFEQ", "leat", "PX", "1").Err()
	if errors.Is(err, redis.Nil) {
		return true, nil
	}
	if _, refused := errors.AsType[redis.Error](err); refused {
		return false, nil
	}
	return false, err
}

// replace writes state and rest instead of the P of token's claim if the record still is what the
// claim has written, and reports whether it has written. It saves the server a script, which is
// most of the cost of a step. The script must run if the record is anything else, if memory is
// full, and if the server no longer supports IFEQ.
func (s *Store) replace(ctx context.Context, name, token, state, rest string) (bool, error) {
	if !s.compares.Load() {
		return false, nil
	}
	claim := s.held.take(name, token)
	if claim == "" {
		return false, nil
	}
	err := s.client.Do(ctx, "SET", name, state+claim[1:]+rest, "IFEQ", claim, "PX", s.cfg.TTL.Milliseconds()).Err()
	refusal, refused := errors.AsType[redis.Error](err)
	switch {
	case err == nil:
		return true, nil
	case refused:
		if strings.HasPrefix(refusal.Error(), "ERR syntax") { // another server by now
			s.compares.Store(false)
		}
		return false, nil
	default:
		return false, fmt.Errorf("compare and set: %w", err)
	}
}

// remember keeps the value that a claim has written, if the server can compare.
func (s *Store) remember(name, value string) {
	if s.compares.Load() {
		s.held.put(name, value)
	}
}

// claimValue is the record of a claim, as claim.lua writes it.
func claimValue(token string, attempt int, lease, ttl int64, fingerprint string) string {
	return "P " + token + " " + strconv.Itoa(attempt) + " " + strconv.FormatInt(lease, 10) + " " + strconv.FormatInt(ttl, 10) + " " + fingerprint
}
