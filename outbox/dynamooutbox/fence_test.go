package dynamooutbox_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// gate keeps transactions on their way until it is opened.
type gate struct {
	way  dynamodb.HTTPClient
	once sync.Once
	came chan struct{} // closed by the first
	open chan struct{}
}

// Do implements the SDK's HTTPClient.
func (g *gate) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		g.once.Do(func() { close(g.came) })
		<-g.open
	}
	return g.way.Do(r)
}

// TestO9_HoldThatArrivesAfterATakeover: a relay has looked at its clock, sends what it sets aside,
// and the request takes so long that another relay leads when it arrives. That one has written
// nothing yet, so that only the lease refuses.
func TestO9_HoldThatArrivesAfterATakeover(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ob, env := newOutbox(t, 1)
	tx := ob.Begin()
	require.NoError(t, ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "k", Payload: []byte("{}")}))
	require.NoError(t, tx.Commit(ctx))

	client, closeIdle := connect(env.URL)
	t.Cleanup(closeIdle)
	options := client.Options()
	g := &gate{way: options.HTTPClient, came: make(chan struct{}), open: make(chan struct{})}
	options.HTTPClient = g
	slow, err := dynamooutbox.New(dynamodb.New(options), dynamooutbox.Config{Table: env.Prefix + "outbox"})
	require.NoError(t, err)
	old := takeOver(t, slow, time.Second)
	page, err := old.Read(ctx, 10)
	require.NoError(t, err)
	require.Len(t, page.Records, 1)
	held := make(chan error, 1)
	go func() {
		held <- old.Hold(ctx, page, 1, []driver.Holding{{Fate: driver.FatePark, Reason: "refused"}})
	}()
	<-g.came

	young := takeOver(t, ob, time.Minute)
	close(g.open)
	require.ErrorIs(t, <-held, driver.ErrLeaseLost)
	parked, err := ob.Admin().Held(ctx, admin.HeldQuery{})
	require.NoError(t, err)
	require.Empty(t, parked)
	page, err = young.Read(ctx, 10)
	require.NoError(t, err)
	require.Len(t, page.Records, 1, "it is the new one's to send")
}

// TestO14_RetryByAClockThatWasAhead: a record is to be retried in an hour, by a clock that was ahead. The next session hastens what
// is not due within its longest backoff, and nothing else.
func TestO14_RetryByAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, 4)
	enqueue(t, ob, outbox.Message{Topic: "t", Key: "k", Payload: []byte("a")}, outbox.Message{Topic: "t", Key: "k", Payload: []byte("b")})
	s := acquire(t, ob)
	page, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, page.Records, 2)
	require.NoError(t, s.(driver.Holder).Hold(t.Context(), page, 2, []driver.Holding{ //nolint:forcetypeassert // it is one
		{Index: 0, Fate: driver.FateRetry, RetryIn: time.Hour}, {Index: 1, Fate: driver.FateWait},
	}))
	require.NoError(t, s.Release(t.Context()))
	next := takeOver(t, ob, leaseTime)
	for _, c := range []struct {
		within time.Duration
		due    int
	}{{2 * time.Hour, 0}, {2 * time.Minute, 2}} {
		require.NoError(t, next.Hasten(t.Context(), c.within))
		due, err := next.Due(t.Context(), 10, nil)
		require.NoError(t, err)
		require.Len(t, due, c.due)
	}
}

// takeOver takes the lease as soon as it is free.
func takeOver(t *testing.T, ob *dynamooutbox.Outbox, ttl time.Duration) driver.Holder {
	t.Helper()
	src, err := ob.Source(dynamooutbox.SourceConfig{})
	require.NoError(t, err)
	for {
		s, err := src.Acquire(t.Context(), ttl)
		if errors.Is(err, driver.ErrLeaseHeld) {
			require.NoError(t, wait.For(t.Context(), 10*time.Millisecond))
			continue
		}
		require.NoError(t, err)
		return s.(driver.Holder) //nolint:forcetypeassert // dynamooutbox's sessions hold records
	}
}
