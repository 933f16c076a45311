package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
)

// IDFromCloudEvent returns an IDSource for CloudEvents in Kafka's binary mode: the
// headers ce_source and ce_id together, since an id is unique for its source only.
// It finds none if ce_id is missing.
func IDFromCloudEvent() IDSource {
	return func(msg *message.Message) (string, error) {
		id := msg.Metadata.Get("ce_id")
		if source := msg.Metadata.Get("ce_source"); id != "" && source != "" {
			return source + " " + id, nil
		}
		return id, nil
	}
}

// IDFromPosition returns an IDSource that takes the Position that the message's
// context carries: source, partition and offset. It recognises redeliveries of
// what is in the log, and not what a producer has sent twice. It finds none if
// the subscriber gives no Position.
func IDFromPosition() IDSource {
	return func(msg *message.Message) (string, error) {
		at, ok := driver.PositionFrom(msg.Context())
		if !ok {
			return "", nil
		}
		return fmt.Sprintf("%s/%d/%d", at.Source, at.Partition, at.Offset), nil
	}
}

// IDFromPayload returns an IDSource that takes the SHA-256 of the payload, in
// hexadecimal. Take it only if no two messages can have the same payload, such
// as if each had a number of its own: a second one counts as a redelivery,
// and its effect is lost.
func IDFromPayload() IDSource {
	return func(msg *message.Message) (string, error) {
		sum := sha256.Sum256(msg.Payload)
		return hex.EncodeToString(sum[:]), nil
	}
}
