package content

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

const headerKeyName = "content-key"

// AEAD encrypts and authenticates. It has the shape of Tink's AEAD; a cipher.AEAD fits in
// two lines, see the example. It is safe for concurrent use.
type AEAD interface {
	// Encrypt returns plaintext encrypted, bound to associated.
	Encrypt(plaintext, associated []byte) ([]byte, error)
	// Decrypt returns the plaintext, or an error if any bit of ciphertext, associated or the
	// key differs.
	Decrypt(ciphertext, associated []byte) ([]byte, error)
}

// Keys finds keys by their names. A message carries the name of its key, so that keys can be
// replaced: keep an old one until all messages that it sealed are gone. Deleting the keys of a
// subject makes its messages unreadable everywhere. Keys is called in transactions, so it should
// have a cache, which must drop a deleted key within a time that you promise. It must be safe for
// concurrent use.
type Keys interface {
	// Current returns the key that seals new messages of subject. The error fails the
	// transaction. It is ErrForgotten for a subject whose key was deleted.
	Current(ctx context.Context, subject string) (name string, key AEAD, err error)

	// Key returns the key of that name, or ErrForgotten if there is none. Any other error
	// means that keys cannot be reached: it counts as inbox.Outage, unless it is
	// marked by inbox.Permanent.
	Key(ctx context.Context, name string) (AEAD, error)
}

// Seal encrypts payloads. The ids, types, versions and content types of messages are not secret,
// but they are authenticated, so that a payload cannot be moved to another message. Topics, keys
// and other headers are neither secret nor authenticated.
type Seal struct {
	// Keys finds keys. Required.
	Keys Keys

	// Subject returns the subject, such as a customer, whose key seals a message. It must not
	// change the message. Defaults to Message.Key.
	Subject func(*outbox.Message) string

	// ID finds the id that the message had when it was sealed. It should be the IDFrom of the
	// inbox: otherwise a copy under another id would take effect again. For a consumer of dead
	// letters use inbox.IDFromHeader("leat_dead_id"). Defaults to inbox.DefaultIDSource.
	ID inbox.IDSource

	// SkipForgotten counts a message whose key is deleted as processed, without its handler.
	// Defaults to false: it is a permanent error.
	SkipForgotten bool

	// ShowErrors passes errors of handlers unchanged. Their texts may quote payloads, and are
	// stored and logged. Defaults to false: the texts are replaced by the types of the errors,
	// and so are panics.
	ShowErrors bool
}

func (s *Seal) complete() {
	if s.Subject == nil {
		s.Subject = func(m *outbox.Message) string { return m.Key }
	}
	if s.ID.Find == nil {
		s.ID = inbox.DefaultIDSource()
	}
}

// seal encrypts the payload of m.
func (s *Seal) seal(ctx context.Context, m *outbox.Message) error {
	if s == nil {
		return nil
	}
	name, key, err := s.Keys.Current(ctx, s.Subject(m))
	switch {
	case err != nil:
		return fmt.Errorf("current key: %w", err)
	case name == "" || key == nil:
		return errors.New("current key: Keys returned none")
	}
	m.Payload, err = key.Encrypt(m.Payload, associated(m.ID, m.Type, versionOf(m.Headers), m.Headers[headerContentType], name))
	if err != nil {
		return fmt.Errorf("seal by key %.200q: %w", name, err)
	}
	m.Headers[headerKeyName] = name
	return nil
}

// open decrypts the payload of msg.
func (s *Seal) open(ctx context.Context, msg *message.Message) error {
	if s == nil {
		return nil
	}
	id, err := s.ID.Find(msg)
	if err != nil {
		return err
	}
	name, kind := msg.Metadata.Get(headerKeyName), msg.Metadata.Get(outbox.HeaderEventType)
	key, err := s.Keys.Key(ctx, name)
	switch {
	case errors.Is(err, ErrForgotten):
		return inbox.Permanent(faultf(err, "message %.200q of type %.200q is sealed by key %.200q", id, kind, name))
	case err != nil:
		return away(err, "key %.200q of message %.200q", name, id)
	case key == nil:
		return faultf(nil, "key %.200q of message %.200q: Keys returned none", name, id)
	}
	payload, err := key.Decrypt(msg.Payload, associated(id, kind, versionOf(msg.Metadata), msg.Metadata.Get(headerContentType), name))
	if err != nil {
		return inbox.Permanent(faultf(err, "message %.200q of type %.200q cannot be opened by key %.200q: it, its id, type, version, content type or key is not as it was sealed", id, kind, name))
	}
	msg.Payload = payload
	delete(msg.Metadata, headerKeyName)
	return nil
}

// away returns the error for an outage of something that every message needs.
func away(err error, format string, args ...any) error {
	err = faultf(err, format, args...)
	if inbox.IsPermanent(err) {
		return err
	}
	return inbox.Outage(err)
}

// associated returns the data that a payload is bound to. Lengths separate neighbouring fields.
func associated(fields ...string) []byte {
	size := 0
	for _, f := range fields {
		size += len(f) + 4
	}
	out := make([]byte, 0, size)
	for _, f := range fields {
		out = binary.BigEndian.AppendUint32(out, uint32(len(f))) //nolint:gosec // ids and headers are short
		out = append(out, f...)
	}
	return out
}
