package leat_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/internal/servicetest"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// oneKey seals everything.
type oneKey struct{ cipher.AEAD }

func (k oneKey) Encrypt(p, ad []byte) ([]byte, error) { return k.Seal(nil, nil, p, ad), nil }

func (k oneKey) Decrypt(c, ad []byte) ([]byte, error) { return k.Open(nil, nil, c, ad) }

func (k oneKey) Current(context.Context, string) (string, content.AEAD, error) { return "k", k, nil }

func (k oneKey) Key(context.Context, string) (content.AEAD, error) { return k, nil }

// TestService_Content: C1, C2. Handlers get messages open, also those that were redriven, and
// what they return is sealed. What the inbox keeps is sealed.
func TestService_Content(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher(make([]byte, 32))
	require.NoError(t, err)
	aead, err := cipher.NewGCMWithRandomNonce(block)
	require.NoError(t, err)
	c, err := content.New(content.Config{Seal: &content.Seal{Keys: oneKey{aead}}})
	require.NoError(t, err)
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	var store meminbox.Store
	in, err := meminbox.New("shop", meminbox.Config{
		Store:  &store,
		Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}},
		Join: func(ctx context.Context) (meminbox.Joined, error) {
			tx, err := ob.Begin(ctx)
			return joined{tx}, err
		},
	})
	require.NoError(t, err)
	service, err := leat.New(leat.Config{Outbox: ob, Inbox: in, Content: c})
	require.NoError(t, err)
	broker := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	first := make(chan struct{}, 1)
	done := make(chan struct{})
	service.Router(nil).AddHandler("copy", "orders", broker, "moves", nil, func(msg *message.Message) ([]*message.Message, error) {
		if string(msg.Payload) != "12 St James's Square" {
			return nil, inbox.Permanent(context.DeadlineExceeded)
		}
		select {
		case first <- struct{}{}: // the first attempt is parked
			return nil, inbox.Permanent(context.DeadlineExceeded)
		default:
			meminbox.OnCommit(msg.Context(), func() { close(done) })
			return []*message.Message{msg}, nil
		}
	})
	msgs, err := c.Encode(t.Context(), outbox.Message{ID: "1", Topic: "orders", Key: "7", Payload: []byte("12 St James's Square")})
	require.NoError(t, err)
	require.NoError(t, broker.Publish("orders", outbox.ToWatermill(&outbox.Record{Message: msgs[0]})))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	redrive := servicetest.RedriveBy(meminbox.NewAdmin(&store))
	require.EventuallyWithT(t, func(at *assert.CollectT) {
		n, err := redrive(t.Context(), "shop/copy")
		require.NoError(at, err)
		require.Equal(at, 1, n)
	}, time.Minute, 5*time.Millisecond)
	<-done
	cancel()
	require.NoError(t, <-ended)
	all := ob.Committed()
	require.Len(t, all, 1)
	require.NotContains(t, string(all[0].Payload), "James")
	require.Equal(t, "k", all[0].Headers["content-key"])
}
