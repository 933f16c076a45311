package dedupe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"
)

// A store names each record by the consumer and an id. Steps have their own records, next to
// those of messages. A producer that chooses the ids of messages must not be able to choose the
// id of a step: its value would then be returned as the receipt of a call that was never made. So
// message ids that begin with the prefix of steps are stored under another prefix, which no step
// has. All other ids are stored unchanged.
const (
	ownPrefix     = "leat "
	stepPrefix    = ownPrefix + "step "
	messagePrefix = ownPrefix + "message "
	digestPrefix  = ownPrefix + "digest "
)

// messageRecord returns the id of a message's record. Different ids have different records, and
// none has the record of a step. An id that a store need not accept, because it is longer than
// maxIDBytes or not text, is recorded by its SHA-256: its sender must not block a consumer that
// cannot refuse it (rule N4).
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
