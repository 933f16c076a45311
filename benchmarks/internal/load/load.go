// Package load makes the messages that the contenders carry.
package load

import (
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/leat-go/leat/outbox"
)

// Spec describes a load. All fields are required.
type Spec struct {
	// Messages is the number of messages.
	Messages int
	// Bytes is the size of a payload.
	Bytes int
	// Keys is the number of distinct keys, used in turns.
	Keys int
	// Topic is the destination.
	Topic string
}

// Messages returns the load. Ids are UUIDv7; payloads are random bytes, the same
// in every run.
func Messages(s Spec) ([]outbox.Message, error) {
	var seed [32]byte
	random := rand.NewChaCha8(seed)
	keys := make([]string, s.Keys)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%08d", i)
	}
	slab := make([]byte, s.Messages*s.Bytes)
	if _, err := random.Read(slab); err != nil {
		return nil, fmt.Errorf("load: payloads: %w", err)
	}
	messages := make([]outbox.Message, s.Messages)
	for i := range messages {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, fmt.Errorf("load: id: %w", err)
		}
		messages[i] = outbox.Message{
			ID:      id.String(),
			Topic:   s.Topic,
			Key:     keys[i%s.Keys],
			Payload: slab[i*s.Bytes : (i+1)*s.Bytes : (i+1)*s.Bytes],
		}
	}
	return messages, nil
}
