package dedupe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"
)

// A store has one name for each record: the consumer's and an id. Steps have records
// of their own beside those of messages, and whoever chooses the ids of messages must
// not be able to choose a step's, whose value would then be returned as the receipt of
// a call that was never made. So ids that begin like ours are stored under another
// prefix, which no step has. All other ids are stored as they are.
const (
	ownPrefix     = "leat "
	stepPrefix    = ownPrefix + "step "
	messagePrefix = ownPrefix + "message "
	digestPrefix  = ownPrefix + "digest "
)

// messageRecord returns the id of a message's record. Different ids have different
// records, and none has the record of a step. An id that a store need not take, longer
// than maxIDBytes or no text, is recorded by its SHA-256: whoever sends it must not
// block a consumer that cannot refuse it (rule N4).
func messageRecord(id string) string {
	switch {
	case len(id) > maxIDBytes, !utf8.ValidString(id), strings.Contains(id, "\x00"):
		sum := sha256.Sum256([]byte(id))
		return digestPrefix + hex.EncodeToString(sum[:])
	case strings.HasPrefix(id, ownPrefix):
		return messagePrefix + id
	default:
		return id
	}
}

// messages is a Store for messages only.
type messages struct{ Store }

// Claim implements Store.
func (m messages) Claim(ctx context.Context, key Key, req Request) (Claim, error) {
	return m.Store.Claim(ctx, record(key), req)
}

// Extend implements Store.
func (m messages) Extend(ctx context.Context, key Key, token string, lease time.Duration) error {
	return m.Store.Extend(ctx, record(key), token, lease)
}

// Complete implements Store.
func (m messages) Complete(ctx context.Context, key Key, token string, result []byte) (Completion, error) {
	return m.Store.Complete(ctx, record(key), token, result)
}

// Release implements Store.
func (m messages) Release(ctx context.Context, key Key, token string) error {
	return m.Store.Release(ctx, record(key), token)
}

func record(key Key) Key {
	return Key{Consumer: key.Consumer, ID: messageRecord(key.ID)}
}
