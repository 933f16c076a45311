package dynamoinbox

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/servicetest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

func TestService(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, func(t *testing.T) servicetest.Store {
		t.Helper()
		s := newSubject(t)
		return servicetest.Store{
			Outbox: func(*testing.T) leat.Outbox { return s.ob },
			Inbox: func(t *testing.T, policy inbox.Policy) leat.Inbox {
				t.Helper()
				in, err := New(s.ob, s.client, "shop", s.config(inbox.Config{OnFailure: policy}))
				require.NoError(t, err)
				return in
			},
			Publish: func(ctx context.Context, ob leat.Outbox, msgs ...outbox.Message) error {
				own, _ := ob.(*dynamooutbox.Outbox)
				return own.InTx(ctx, func(ctx context.Context, tx *dynamooutbox.Tx) error { return own.Enqueue(ctx, tx, msgs...) })
			},
			Write: s.Write, Effects: s.Effects,
			NoDelay: true,
		}
	})
}
