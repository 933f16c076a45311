package dashboard_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
)

// oneKey is a key of a test, until it is deleted.
type oneKey struct {
	cipher.AEAD
	deleted bool
}

func newOneKey() *oneKey {
	block, _ := aes.NewCipher(make([]byte, 32))
	aead, _ := cipher.NewGCMWithRandomNonce(block)
	return &oneKey{AEAD: aead}
}

func (k *oneKey) Encrypt(p, ad []byte) ([]byte, error) { return k.Seal(nil, nil, p, ad), nil }

func (k *oneKey) Decrypt(c, ad []byte) ([]byte, error) { return k.Open(nil, nil, c, ad) }

func (k *oneKey) Current(context.Context, string) (string, content.AEAD, error) { return "k", k, nil }

func (k *oneKey) Key(context.Context, string) (content.AEAD, error) {
	if k.deleted {
		return nil, content.ErrForgotten
	}
	return k, nil
}

// TestC5_SealedContent: C5. Those who may see payloads see them open, on the pages of outboxes
// and inboxes, and in the API. Others do not, and where the key is deleted the reason is shown.
func TestC5_SealedContent(t *testing.T) {
	t.Parallel()
	key := newOneKey()
	c, err := content.New(content.Config{Seal: &content.Seal{Keys: key}})
	require.NoError(t, err)
	msgs, err := c.Encode(t.Context(), outbox.Message{ID: "s-1", Topic: "customers", Key: "7", Type: "Moved", Payload: []byte(`{"street":"St James's"}`)})
	require.NoError(t, err)
	store := &meminbox.Store{}
	in, err := meminbox.New("billing", meminbox.Config{Store: store, Config: inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay},
	}})
	require.NoError(t, err)
	require.NoError(t, in.Handle(c.Handle(func(context.Context, *message.Message) error { return errors.New("on purpose") }))(
		outbox.ToWatermill(&outbox.Record{Message: msgs[0]})))
	s := newShop(t, func(cfg *dashboard.Config) {
		cfg.Inboxes["sealed"] = meminbox.NewAdmin(store)
		cfg.Decoders = []dashboard.Decoder{{Topics: "*", Decode: c.Show}}
	})
	s.enqueue(msgs...)
	pages := []string{
		"/messages/5?outbox=shop", "/api/v1/messages/5?outbox=shop", "/inboxes/parked/1?inbox=sealed", "/api/v1/inboxes/parked/1?inbox=sealed",
	}
	for _, page := range pages {
		require.Contains(t, s.get(page).Body.String(), "street", page)
	}
	key.deleted = true
	for _, page := range pages {
		body := s.get(page).Body.String()
		require.NotContains(t, body, "street", page)
		require.Contains(t, body, "the key is deleted", page)
	}
	key.deleted = false
	s.roles = []dashboard.Role{dashboard.RoleViewer}
	for _, page := range pages {
		require.NotContains(t, s.get(page).Body.String(), "street", page)
	}
}
