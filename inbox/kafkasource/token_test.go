package kafkasource_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// TestTokensExpire: a sink and a subscriber that sign in by OAUTHBEARER go on when tokens end: each
// connection gets a new one. While none is good it is an outage, and nothing is lost.
//
//leat:level 4
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	server := testenv.SecuredKafka(t)
	server.Topic(t, "orders", nil)
	server.Allow(t, "shop",
		testenv.ACL{Operation: kmsg.ACLOperationWrite, Resource: "topic", Name: "orders"},
		testenv.ACL{Operation: kmsg.ACLOperationRead, Resource: "topic", Name: "orders"},
		testenv.ACL{Operation: kmsg.ACLOperationRead, Resource: "group", Name: "shop"})
	var expired atomic.Bool
	issuer := func(issued *atomic.Int64) func() string {
		return func() string {
			issued.Add(1)
			if expired.Load() {
				return testenv.KafkaToken("shop", -time.Minute)
			}
			return testenv.KafkaToken("shop", 2*time.Second)
		}
	}
	var written, read atomic.Int64

	sink, err := kafkasink.New(server.Brokers, kafkasink.Config{Options: server.Bearing(issuer(&written))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sink.Close()) })
	cfg := brisk()
	cfg.Options, cfg.Logger = server.Bearing(issuer(&read)), testenv.NewLog().Logger()
	msgs := subscribe(t, newSubscriber(t, server.Brokers, "shop", cfg), "orders")

	send := func(n int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return sink.Send(ctx, []outbox.Record{{Seq: int64(n), Message: outbox.Message{
			ID: strconv.Itoa(n), Topic: "orders", Key: "k", Payload: []byte("x"),
		}}})[0].Err
	}
	next := 0
	arrives := func() {
		next++
		require.NoError(t, send(next))
		for seen := -1; seen < next; { // repeats may come
			msg := receive(t, msgs)
			msg.Ack()
			seen, err = strconv.Atoi(msg.UUID)
			require.NoError(t, err)
		}
	}
	arrives()
	for first := [2]int64{written.Load(), read.Load()}; written.Load() < first[0]+3 || read.Load() < first[1]+3; {
		arrives()
	}

	expired.Store(true)
	for err = nil; err == nil; { // until the last good token has ended
		next++
		err = send(next)
	}
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(err), "%v", err)
	next--
	expired.Store(false)
	require.Eventually(t, func() bool { return send(next+1) == nil }, time.Minute, time.Millisecond)
	arrives()
}
