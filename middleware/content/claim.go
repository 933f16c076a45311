package content

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

const (
	headerClaim  = "content-claim"
	claimVersion = "1"
	claimDay     = "2006/01/02/"

	defaultOver = 512 << 10
	defaultMax  = 100 << 20
)

// Blobs keeps large payloads, for example in an S3 bucket or a directory. It must be safe for
// concurrent use.
type Blobs interface {
	// Put keeps data under key, durably. It is called again with the same key only for the same
	// data. An error fails the transaction.
	Put(ctx context.Context, key string, data []byte) error

	// Get returns the data stored under key, or ErrGone if there is none. Any other error means
	// that the store cannot be reached: it counts as inbox.Outage, unless it is marked by
	// inbox.Permanent.
	Get(ctx context.Context, key string) ([]byte, error)
}

// Claim keeps large payloads in Blobs and sends a reference of 200 bytes instead of them. The
// payload is put first: a transaction that then rolls back leaves it behind.
//
// leat deletes nothing. Keys begin with the day, as in 2006/01/02/, so that the store can
// expire them. They must outlive the outbox's retention, the topic's, and the time that
// messages are parked, together.
type Claim struct {
	// Blobs keeps the payloads. Required.
	Blobs Blobs

	// Over is the largest payload in bytes that a message carries itself. Defaults to 512 KiB,
	// which is below outbox.DefaultMaxPayloadBytes even in an envelope.
	Over int

	// Max is the largest payload in bytes that is put or got. Defaults to 100 MiB.
	Max int64
}

func (c *Claim) complete() {
	c.Over, c.Max = cmp.Or(c.Over, defaultOver), cmp.Or(c.Max, defaultMax)
}

// reference is the payload of a message whose real payload is in Blobs.
type reference struct {
	Claim string `json:"claim"` // the day, and the SHA-256 of the payload
	Bytes int64  `json:"bytes"`
}

var claimKey = regexp.MustCompile(`^\d{4}/\d\d/\d\d/[0-9a-f]{64}$`)

// put replaces the payload of m, if it is large, by a reference.
func (c *Claim) put(ctx context.Context, m *outbox.Message) error {
	if c == nil || len(m.Payload) <= c.Over {
		return nil
	}
	if int64(len(m.Payload)) > c.Max {
		return refuse("Payload", strconv.Itoa(len(m.Payload))+" bytes", fmt.Sprintf("is larger than Claim.Max, %d bytes", c.Max))
	}
	ref := reference{Claim: time.Now().UTC().Format(claimDay) + digest(m.Payload), Bytes: int64(len(m.Payload))}
	if err := c.Blobs.Put(ctx, ref.Claim, m.Payload); err != nil {
		return fmt.Errorf("put the payload as %s: %w", ref.Claim, err)
	}
	payload, err := json.Marshal(ref)
	if err != nil {
		return err
	}
	m.Payload, m.Headers[headerClaim] = payload, claimVersion
	return nil
}

// get replaces a reference in msg by its payload, of most bytes.
func (c *Claim) get(ctx context.Context, msg *message.Message, most int64) error {
	if c == nil || msg.Metadata.Get(headerClaim) == "" {
		return nil
	}
	if form := msg.Metadata.Get(headerClaim); form != claimVersion {
		return faultf(nil, "message %.200q has a reference of form %.20q, which is not known", msg.UUID, form)
	}
	ref, err := parseReference(msg.Payload)
	if err != nil {
		return inbox.Permanent(faultf(err, "message %.200q has a reference that cannot be read", msg.UUID))
	}
	if most = min(most, c.Max); ref.Bytes > most {
		return inbox.Permanent(faultf(nil, "message %.200q: the payload %s has %d bytes, and %d are allowed", msg.UUID, ref.Claim, ref.Bytes, most))
	}
	data, err := c.Blobs.Get(ctx, ref.Claim)
	switch {
	case errors.Is(err, ErrGone):
		return inbox.Permanent(faultf(err, "message %.200q: payload %s", msg.UUID, ref.Claim))
	case err != nil:
		return away(err, "message %.200q: payload %s", msg.UUID, ref.Claim)
	case int64(len(data)) != ref.Bytes || digest(data) != ref.Claim[len(claimDay):]:
		return inbox.Permanent(faultf(nil, "message %.200q: the payload %s is not what was put", msg.UUID, ref.Claim))
	}
	msg.Payload = data
	delete(msg.Metadata, headerClaim)
	return nil
}

// parseReference refuses keys that put does not make: they must not lead a file store to other
// files.
func parseReference(payload []byte) (reference, error) {
	var ref reference
	if err := json.Unmarshal(payload, &ref); err != nil {
		return reference{}, err
	}
	if !claimKey.MatchString(ref.Claim) || ref.Bytes < 0 {
		return reference{}, fmt.Errorf("claim %.100q of %d bytes", ref.Claim, ref.Bytes)
	}
	return ref, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
