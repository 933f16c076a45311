package pgoutbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
)

// TestR12_KillsOnPostgres kills relay processes that deliver exactly once while producers write. A kill
// counts only if the process had sent something.
//
//leat:level 4
func TestR12_KillsOnPostgres(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	relays := []*process{s.spawnExact(), s.spawnExact()}
	kills := 0
	kill := func() {
		for i, p := range relays {
			if kills < 3 && p.sent.Load() > 0 {
				p.kill()
				t.Logf("killed after %d records sent, %d settled, of %d written", p.sent.Load(), p.settled.Load(), s.ledger.size())
				kills++
				relays[i] = s.spawnExact()
			}
		}
	}
	s.storm("storm", 30, func(n int) {
		if n%20 == 0 {
			kill()
		}
	})
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for i := 0; kills < 3; i++ {
		s.commit(s.message("k", fmt.Sprint("more ", i)))
		kill()
		<-pause.C
	}
	for _, p := range relays {
		p.kill()
	}
	s.finishExact(t)
	s.requireExact()
	require.Zero(t, s.relayOnce(source(t, s.ob, ""), s.sink(), relay.Config{}), "the database knows what is settled")
}

// TestR12_LostPositionOnPostgres: without its position topic, a relay that has delivered nothing yet
// starts, and one that has delivered refuses.
//
//leat:level 2
func TestR12_LostPositionOnPostgres(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for range 3 { // windows with nothing in them
		s.relayOnce(s.exactSource(), s.exactSink(), relay.Config{})
		undone := begin(t, s.ob, s.db)
		require.NoError(t, s.ob.Enqueue(t.Context(), undone.Tx, s.message("k", "undone")))
		undone.rollback()
	}
	s.commit(s.message("k", "1"), s.message("k", "2"))
	require.Equal(t, 2, s.relayOnce(s.exactSource(), s.exactSink(), relay.Config{}))
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Brokers...))
	require.NoError(t, err)
	defer client.Close()
	_, err = kadm.NewClient(client).DeleteTopic(t.Context(), exactConfig(s.kafka.Prefix).PositionTopic)
	require.NoError(t, err)
	r, err := relay.New(s.exactSource(), s.exactSink(), relay.Config{})
	require.NoError(t, err)
	require.ErrorIs(t, r.Run(t.Context()), driver.ErrSourceUnusable)

	adopts, err := relay.New(s.exactSource(), s.exactSink(), relay.Config{AdoptPosition: true})
	require.NoError(t, err)
	s.commit(s.message("k", "3"))
	n, err := adopts.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	s.requireExact()
}

// TestR12_MovesFromAnotherSink: a group that was relayed at least once continues exactly once if the relay
// is told to adopt its position.
func TestR12_MovesFromAnotherSink(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.commit(s.message("k", "1"), s.message("k", "2"))
	require.Equal(t, 2, s.relayOnce(s.exactSource(), s.sink(), relay.Config{}))
	r, err := relay.New(s.exactSource(), s.exactSink(), relay.Config{})
	require.NoError(t, err)
	require.ErrorIs(t, r.Run(t.Context()), driver.ErrSourceUnusable)
	s.commit(s.message("k", "3"))
	require.Equal(t, 1, s.relayOnce(s.exactSource(), s.exactSink(), relay.Config{AdoptPosition: true}))
	s.commit(s.message("k", "4"))
	require.Equal(t, 1, s.relayOnce(s.exactSource(), s.exactSink(), relay.Config{}))
	s.requireExact()
}

// TestR12_BackToExactlyOnce: a group that was relayed without the sink's positions for a while is refused.
// The error says what to do: remove those positions and adopt the database's. Adopting alone is refused,
// too.
func TestR12_BackToExactlyOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	adopts := relay.Config{AdoptPosition: true}
	s.commit(s.message("k", "1"))
	require.Equal(t, 1, s.relayOnce(s.exactSource(), s.exactSink(), adopts))
	s.commit(s.message("k", "2"), s.message("k", "3"))
	require.Equal(t, 2, s.relayOnce(s.exactSource(), s.sink(), relay.Config{}))
	for _, cfg := range []relay.Config{{}, adopts} {
		r, err := relay.New(s.exactSource(), s.exactSink(), cfg)
		require.NoError(t, err)
		err = r.Run(t.Context())
		require.ErrorIs(t, err, driver.ErrSourceUnusable)
		require.ErrorContains(t, err, "the group was relayed through another sink since, or")
		require.ErrorContains(t, err, "remove its positions from the sink, and start the relays once so that they adopt the stored one (adopt_position)")
	}
	_, err := s.exactSink().RemovePositions(t.Context(), kafkasink.RemoveRequest{Actor: "ann", Reason: "it was relayed without"})
	require.NoError(t, err)
	s.commit(s.message("k", "4"))
	require.Equal(t, 1, s.relayOnce(s.exactSource(), s.exactSink(), adopts))
	s.commit(s.message("k", "5"))
	require.Equal(t, 1, s.relayOnce(s.exactSource(), s.exactSink(), relay.Config{}))
	s.requireExact()
}
