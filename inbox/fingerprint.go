package inbox

import (
	"crypto/sha256"

	"github.com/ThreeDotsLabs/watermill/message"
)

// FingerprintPayload returns the SHA-256 of the payload.
// See rule B10.
func FingerprintPayload(msg *message.Message) ([]byte, error) {
	sum := sha256.Sum256(msg.Payload)
	return sum[:], nil
}
