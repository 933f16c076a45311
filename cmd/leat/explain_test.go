package main_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// missingTopic lets a relay find that the topic crm-feed is missing, with some records that wait for it,
// and returns once that is stored.
func (s *shop) missingTopic(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		s.enqueue(t, placed(id, "crm-feed", "", "fine"))
	}
	session, err := s.source(t, "default").Acquire(t.Context(), time.Hour)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Release(context.WithoutCancel(t.Context()))) })
	holder, ok := session.(driver.Holder)
	require.True(t, ok)
	page, err := holder.Read(t.Context(), len(ids))
	require.NoError(t, err)
	var set []driver.Holding
	for i := range page.Records {
		set = append(set, driver.Holding{Index: i, Fate: driver.FateRetry, RetryIn: time.Hour})
	}
	require.NoError(t, holder.Hold(t.Context(), page, len(page.Records), set))
	keeper, ok := session.(driver.OutageKeeper)
	require.True(t, ok)
	out := driver.Outage{Topic: "crm-feed", Since: time.Now().Add(-26 * time.Minute), Cause: "unavailable", Error: "Kafka has no topic crm-feed"}
	require.NoError(t, keeper.KeepOutages(t.Context(), []driver.Outage{out}))
}

// One command says why something is not sent, and what to do.
func TestExplain(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	s.missingTopic(t, "m-8", "m-9", "m-10")
	require.NoError(t, s.ob.Admin().Pause(t.Context(), admin.PauseRequest{By: admin.By{Actor: "bob", Reason: "INC-1"}, Group: "mail", Topics: []string{"mails"}}))
	o := newSession(t, s.URL)
	o.run(5, "explain")
	o.run(5, "explain", "-o", "json")
	for _, what := range []string{"m-1", "m-2", "m-3", "m-6", "m-7", "m-8", "order-1", "ann", "order-2", "crm-feed", "orders", "mails"} {
		o.run(0, "explain", what)
	}
	o.run(0, "explain", "m-8", "-o", "json")
	o.run(3, "explain", "nobody")
	o.golden("explain")
}

// Where nothing waits, nothing is explained.
func TestExplain_AllIsWell(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := newSession(t, s.URL)
	require.Contains(t, o.leat("explain").out, "Nothing stands still.")
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	r := o.leat("explain")
	require.Equal(t, 5, r.code)
	require.Contains(t, r.out, "no relay group has begun to read")
	session, err := s.source(t, "default").Acquire(t.Context(), time.Hour)
	require.NoError(t, err)
	r = o.leat("explain", "m-1")
	require.Contains(t, r.out, "not sent yet: its turn comes; 1 message not sent")
	require.Equal(t, 0, o.leat("explain").code, "a relay is at it")
	require.NoError(t, session.Release(context.WithoutCancel(t.Context())))
	r = o.leat("explain")
	require.Contains(t, r.out, "no relay lives; 1 message not sent")
	require.Contains(t, o.leat("explain", "m-1").out, "no relay lives")
}

// A destination that does not answer is one cause: that its group is behind follows from it. A topic that is
// missing does not explain why the others are late.
func TestExplain_OneCause(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "a", "1"), placed("m-2", "mails", "b", "2"), placed("m-3", "bills", "c", "3"))
	s.changes(t, "UPDATE leat.outbox SET created_at = created_at - interval '26 minutes'")
	session, err := s.source(t, "default").Acquire(t.Context(), time.Hour)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Release(context.WithoutCancel(t.Context()))) })
	keeper, ok := session.(driver.OutageKeeper)
	require.True(t, ok)
	out := func(cause, text string, more ...driver.Outage) {
		t.Helper()
		first := driver.Outage{Topic: "orders", Since: time.Now().Add(-26 * time.Minute), Cause: cause, Error: text}
		require.NoError(t, keeper.KeepOutages(t.Context(), append([]driver.Outage{first}, more...)))
	}
	o := newSession(t, s.URL)
	out("outage", "kafka at [k1:9092] does not answer: EOF")
	one := flat(o.leat("explain").out)
	require.Regexp(t, `not sent: kafka at \[k1:9092\] does not answer: EOF \(since 2\dm\d\ds; 1 topic, 3 messages not sent\)`, one)
	require.Equal(t, 1, strings.Count(one, "to do:"), one)
	out("outage", "kafka at [k1:9092] does not answer: EOF", driver.Outage{Since: time.Now(), Cause: "outage", Error: "20000 more topics are out"})
	require.Equal(t, 1, strings.Count(o.leat("explain").out, "to do:"), "those beyond what is listed are out for the same reason")
	out("unavailable", "Kafka has no topic orders")
	two := flat(o.leat("explain").out)
	require.Contains(t, two, "behind: 3 messages not sent")
	require.Equal(t, 2, strings.Count(two, "to do:"), two)
}
