package relay_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestS18_TopicsThatAreNotAllowed: a message for a destination that is not allowed does not reach any
// sink. Its policy decides at once what happens to it. Other topics are not affected, and a redrive
// through a relay that allows the topic sends it in order.
func TestS18_TopicsThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{
		AllowedTopics: []string{"orders", "mail.*", "t"},
		Policies:      []relay.Policy{{Topics: "dead", Action: relay.DeadLetter}, {Topics: "skipped", Action: relay.Skip}},
	}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		l.put("orders", "k", "o1", "o2")
		l.put("payments", "k", "p1", "p2")
		l.put("payments", "", "p3")
		l.put("orders.eu", "", "o3")
		l.put("mail.eu", "k", "m1")
		l.put("dead", "k", "d1")
		l.put("skipped", "k", "s1")
		stop := lead(t, r)
		elapse(t, time.Minute)
		require.ElementsMatch(t, []string{"o1", "o2", "m1"}, l.sent())
		require.Len(t, l.calls(0), 1, "the sink has seen nothing else")
		require.ElementsMatch(t, []string{"p1", "p2", "p3", "o3"}, l.parked())
		require.Contains(t, hook.copy().holds, "skip s1")
		dead, err := l.Admin().Dead(t.Context(), admin.HeldQuery{})
		require.NoError(t, err)
		require.Len(t, dead, 1)
		require.Equal(t, "dead", dead[0].Topic)
		held, err := l.Admin().Held(t.Context(), admin.HeldQuery{Topic: "payments", Key: "k", Limit: 1})
		require.NoError(t, err)
		require.Len(t, held[0].Errors, 1)
		require.Equal(t, outbox.FailurePermanent.String(), held[0].Errors[0].Kind)
		require.Contains(t, held[0].Errors[0].Error, `topic "payments" is not one of those that the relay may send to`)

		_, err = l.Admin().Redrive(t.Context(), admin.ChangeRequest{By: operator(), Selection: admin.Selection{Topic: "payments", Key: "k"}})
		require.NoError(t, err)
		elapse(t, time.Minute)
		require.Len(t, l.calls(0), 1, "a redrive allows nothing")
		stop()

		again, err := relay.New(l.source(), l, relay.Config{AllowedTopics: []string{"payments"}})
		require.NoError(t, err)
		_, err = l.Admin().Redrive(t.Context(), admin.ChangeRequest{By: operator(), Selection: admin.Selection{Topic: "payments", Key: "k"}})
		require.NoError(t, err)
		stop = lead(t, again)
		elapse(t, time.Minute)
		require.Equal(t, []string{"p1", "p2"}, l.sent()[3:])
		stop()
	})
}

// TestS18_PausedBeforeNotAllowed: while a topic is paused, its messages are left alone even if the topic
// is not allowed.
func TestS18_PausedBeforeNotAllowed(t *testing.T) {
	t.Parallel()
	inPauseLab(t, relay.Config{AllowedTopics: []string{"orders"}}, func(l *lab, p *pausable, r *relay.Relay, _ *recorder) {
		p.pause("payments")
		l.put("payments", "k", "p1")
		l.put("orders", "k", "o1")
		stop := lead(l.t, r)
		elapse(l.t, afterPause)
		require.Equal(l.t, []string{"o1"}, l.sent())
		require.Empty(l.t, l.parked())
		p.pause()
		elapse(l.t, afterPause)
		require.Equal(l.t, []string{"p1"}, l.parked())
		stop()
	})
}

// TestS18_TopicsThatAreNotAllowedInATransaction: a sink that keeps positions gets the records before one
// that is not allowed. Then its slot stops there and an alarm is raised.
func TestS18_TopicsThatAreNotAllowedInATransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob, payloads := filled(t, 2)
		require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
			return ob.Enqueue(ctx, tx, outbox.Message{Topic: "payments", Payload: []byte("p")}, outbox.Message{Topic: "t", Payload: []byte("3")})
		}))
		sink, hook := newFakeTransactions(), &recorder{}
		r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{AllowedTopics: []string{"t"}, Hooks: []outbox.Hook{hook}})
		require.NoError(t, err)
		stop := lead(t, r)
		elapse(t, time.Minute)
		committed, _ := sink.state()
		require.Equal(t, payloads, committed)
		alarms := hook.copy().alarms
		require.True(t, slices.ContainsFunc(alarms, func(e outbox.AlarmEvent) bool {
			return e.Kind == relay.AlarmBlocked && strings.Contains(e.Detail, "not one of those that the relay may send to")
		}), "%+v", alarms)
		stop()
	})
}

// TestS18_TopicsOfStrangersAreForgotten: however many there are, topics whose records can never be
// delivered are not remembered for the rest of the term. A topic with an outage is remembered.
func TestS18_TopicsOfStrangersAreForgotten(t *testing.T) {
	t.Parallel()
	r, err := relay.New(newFakeLog(0).source(), takesAll(0), relay.Config{})
	require.NoError(t, err)
	records, results := make([]outbox.Record, 1000), make([]outbox.Result, 1000)
	for i := range records {
		records[i].Topic = strconv.Itoa(i)
		results[i] = outbox.Failed(outbox.FailurePermanent, errBroker)
	}
	results[7] = outbox.Failed(outbox.FailureOutage, errBroker)
	require.Equal(t, 1, relay.TopicsWithFailures(t.Context(), r, records, results))
}
