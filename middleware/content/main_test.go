package content_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
)

//leat:level 0
func TestMain(m *testing.M) { testenv.Main(m) }

var errAway = errors.New("connection refused")

// gcm is a cipher.AEAD as an AEAD.
type gcm struct{ cipher.AEAD }

func (g gcm) Encrypt(plaintext, associated []byte) ([]byte, error) {
	return g.Seal(nil, nil, plaintext, associated), nil
}

func (g gcm) Decrypt(ciphertext, associated []byte) ([]byte, error) {
	return g.Open(nil, nil, ciphertext, associated)
}

func newKey() content.AEAD {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	block, _ := aes.NewCipher(secret)
	aead, _ := cipher.NewGCMWithRandomNonce(block)
	return gcm{aead}
}

// keys has a key a subject, called by it and a number.
type keys struct {
	mu     sync.Mutex
	byName map[string]content.AEAD
	number int
	err    error
}

func newKeys() *keys { return &keys{byName: map[string]content.AEAD{}} }

func (k *keys) Current(_ context.Context, subject string) (string, content.AEAD, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := fmt.Sprintf("%s/%d", subject, k.number)
	if k.byName[name] == nil {
		k.byName[name] = newKey()
	}
	return name, k.byName[name], k.err
}

func (k *keys) Key(_ context.Context, name string) (content.AEAD, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch key := k.byName[name]; {
	case k.err != nil:
		return nil, k.err
	case key == nil:
		return nil, content.ErrForgotten
	default:
		return key, nil
	}
}

// rotate makes new keys the current ones. The old ones stay.
func (k *keys) rotate() { k.mu.Lock(); defer k.mu.Unlock(); k.number++ }

// forget deletes the keys of a subject.
func (k *keys) forget(subject string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name := range k.byName {
		if strings.HasPrefix(name, subject+"/") {
			delete(k.byName, name)
		}
	}
}

// blobs keeps payloads in memory.
type blobs struct {
	mu   sync.Mutex
	data map[string][]byte
	gets int
	err  error
}

func newBlobs() *blobs { return &blobs{data: map[string][]byte{}} }

func (b *blobs) Put(_ context.Context, key string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.data[key] = data
	}
	return b.err
}

func (b *blobs) Get(_ context.Context, key string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gets++
	data, found := b.data[key]
	if b.err == nil && !found {
		return nil, content.ErrGone
	}
	return data, b.err
}

func newContent(tb testing.TB, cfg content.Config) *content.Content {
	tb.Helper()
	c, err := content.New(cfg)
	require.NoError(tb, err)
	return c
}

// encode returns m as it stands in an outbox.
func encode(tb testing.TB, c *content.Content, m outbox.Message) outbox.Message {
	tb.Helper()
	msgs, err := c.Encode(tb.Context(), m)
	require.NoError(tb, err)
	return msgs[0]
}

// deliver returns m as a consumer gets it.
func deliver(tb testing.TB, m outbox.Message) *message.Message {
	tb.Helper()
	msg := outbox.ToWatermill(&outbox.Record{Message: m})
	msg.SetContext(tb.Context())
	return msg
}

// open returns the payload that a handler sees, and the error of c.
func open(tb testing.TB, c *content.Content, msg *message.Message) (payload []byte, err error) {
	tb.Helper()
	err = c.Handle(func(_ context.Context, msg *message.Message) error {
		payload = msg.Payload
		return nil
	})(tb.Context(), msg)
	return payload, err
}

// newInbox returns an inbox as one process has it, in the store of all of them.
func newInbox(tb testing.TB, store *meminbox.Store, policy inbox.Policy) *meminbox.Inbox {
	tb.Helper()
	policy.Delay = inbox.NoDelay
	in, err := meminbox.New("loyalty", meminbox.Config{
		Config: inbox.Config{OnFailure: policy, Logger: slog.New(slog.DiscardHandler)}, Store: store,
	})
	require.NoError(tb, err)
	return in
}

// parked returns what is parked in store.
func parked(tb testing.TB, store *meminbox.Store) []admin.ParkedMessage {
	tb.Helper()
	all, err := meminbox.NewAdmin(store).Parked(tb.Context(), admin.ParkedQuery{})
	require.NoError(tb, err)
	return all
}

func newOutbox(tb testing.TB) *memoutbox.Outbox {
	tb.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(tb, err)
	return ob
}
