package pginbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmsink"
)

// TestChanges makes ordinary changes to a running service, as docs/changing.md describes them: old and new
// side by side, with messages in flight, parked, delayed and waiting. The verdict is based on ids: nothing
// is lost, duplicated or out of order, unless the log has announced it before.
//
//leat:level 4
func TestChanges(t *testing.T) {
	t.Parallel()
	for store, open := range map[string]opener{"PostgreSQL": onPostgres, "MySQL": onMySQL} {
		for name, change := range map[string]func(w *world){
			"topics": changeTopics, "name of the group": renameGroup, "policy": changePolicy, "order": changeOrder, "sink": changeSink,
			"name of the consumer": renameConsumer, "ids": changeIDs, "policy of the inbox": changeInboxPolicy, "manner": changeManner,
			// These are of one store, or leave it alone.
			"slots": onlyOn(store, changeSlots), "exactly once": onlyOn(store, changeExactlyOnce),
			"handlers": onlyOn(store, splitHandlers), "subscriber": onlyOn(store, changeSubscriber),
		} {
			if change == nil {
				continue
			}
			t.Run(store+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, open)
				change(w)
				w.rest()
				require.Empty(t, w.judge())
			})
		}
	}
}

// onlyOn returns change if store is PostgreSQL, and nil otherwise.
func onlyOn(store string, change func(w *world)) func(w *world) {
	if store != "PostgreSQL" {
		return nil
	}
	return change
}

// TestChanges_JudgeSees: forbidden changes, made by hand, are noticed.
//
//leat:level 4
func TestChanges_JudgeSees(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world)
		sees   string
	}{
		"topics are taken away in the database": {func(w *world) {
			stop := w.relay(group{}, relay.Config{}, w.sink())
			w.progress(20)
			w.stopped(stop)
			w.put(w.mails, "k", 3)
			w.exec(fmt.Sprintf("UPDATE leat.outbox_leases SET topics = ARRAY['%s']", w.orders))
			w.relay(group{Topics: []string{w.orders}}, relay.Config{}, w.sink())
		}, "lost"},
		"a position is deleted": {func(w *world) {
			stop := w.relay(group{}, relay.Config{}, w.sink())
			w.progress(20)
			w.stopped(stop)
			for _, table := range []string{"positions", "leases", "groups"} {
				w.exec("DELETE FROM leat.outbox_" + table)
			}
			w.relay(group{}, relay.Config{}, w.sink())
		}, "doubled"},
		"those behind a parked record go first": {func(w *world) {
			w.refuses.Store(true)
			stop := w.relay(group{}, relay.Config{}, w.sink())
			w.parked()
			w.stopWriting()
			w.await("nothing else waits", func() bool { return w.backlog() == 0 })
			w.stopped(stop)
			w.refuses.Store(false)
			w.exec("UPDATE leat.outbox_held SET key = 'good' WHERE seq > (SELECT min(seq) FROM leat.outbox_held)")
			w.exec("UPDATE leat.outbox_held SET state = 'retry', next_at = now() WHERE key = 'good'")
			w.relay(group{}, relay.Config{}, w.sink())
			w.await("those behind it went", func() bool { return w.stats().Held == 1 })
		}, "out of order"},
		"a sink hashes keys in another way": {func(w *world) {
			stop := w.relay(group{}, relay.Config{}, w.sink())
			w.progress(40)
			w.stopped(stop)
			w.relay(group{}, relay.Config{}, w.sinkWith(kafkasink.PartitionSarama))
			w.progress(40)
		}, "in another partition"},
		"a consumer has another name": {func(w *world) {
			w.relay(group{}, relay.Config{}, w.sink())
			old := w.consume(w.kafkasource("g1"), "old", manner{}, "billed")
			w.effects("billed")
			old.stop()
			w.consume(w.kafkasource("g2"), "new", manner{}, "billed") // from the oldest message, without a memory
		}, "doubled effect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, onPostgres)
			c.change(w)
			w.rest()
			require.Contains(t, strings.Join(w.judge(), "\n"), c.sees)
		})
	}
}

type group = outboxtest.GroupConfig

// changeSlots goes from one slot to four, then to two.
func changeSlots(w *world) {
	w.refuses.Store(true)
	brief := relay.Config{Lease: 3 * time.Second, PublishTimeout: time.Second, LeaseMargin: 500 * time.Millisecond}
	with := func(slots int) func() error { return w.relay(group{Slots: slots}, brief, w.sink()) }
	has := func(n int) {
		w.await(fmt.Sprintf("the group has %d slots", n), func() bool { g := w.group(); return g.Slots == n && g.Leases == n && g.NextSlots == 0 })
		w.progress(20)
	}
	a := with(1)
	has(1)
	w.parked()
	b := with(4)
	w.progress(20)
	require.Equal(w.t, []int{1, 0}, []int{w.group().Slots, w.group().NextSlots}, "one that lives wants what there is")
	w.stopped(a)
	c := with(4)
	has(4)
	with(2)
	w.progress(20)
	w.stopped(b, c)
	has(2)
}

// changeTopics removes a topic while messages of it wait, which is refused, and then in the way the page
// describes. Finally it adds the topic again.
func changeTopics(w *world) {
	w.refuses.Store(true)
	both, fewer := group{}, group{Topics: []string{w.orders}}
	old := w.relay(both, relay.Config{}, w.sink())
	w.progress(20)
	w.parked()
	w.stopped(old)
	w.put(w.mails, "k", 5)
	w.refused(fewer, relay.Config{}, w.sink(), " wait")

	old = w.relay(both, relay.Config{}, w.sink())
	w.silent.Store(true) // the producers of the topic stop
	w.lull()
	next := w.relay(fewer, relay.Config{}, w.sink())
	w.says("the relays that lead the group read other topics")
	w.stopped(old)
	w.progress(20)
	w.leftOut(w.mails, 3, "the group reads other topics from now on", "former=[*]")
	w.lull()
	w.stopped(next)
	w.relay(both, relay.Config{}, w.sink())
	w.says("what it has passed of them is only sent by leat replay", "reads=[*]")
	w.silent.Store(false)
	w.progress(20)
}

// renameGroup renames a group together with its position and its parked records.
func renameGroup(w *world) {
	w.refuses.Store(true)
	w.named = "audit"
	begins := group{Name: "audit", Start: driver.Start{Oldest: true}}
	old := w.relay(begins, relay.Config{}, w.sink())
	w.progress(20)
	w.parked()
	w.refused(group{Name: "archive"}, relay.Config{}, w.sink(), "must say where it starts") // in a rolling deploy, with the new name
	w.stopped(old)
	w.put(w.orders, "k1", 5)
	_, err := w.admin.RenameGroup(w.t.Context(), admin.GroupRequest{By: by(), Group: "audit", Name: "archive"})
	require.NoError(w.t, err)
	w.named = "archive"
	w.relay(group{Name: "archive"}, relay.Config{}, w.sink())
	w.refused(begins, relay.Config{}, w.sink(), "archive")
	w.progress(20)
}

// changePolicy runs a relay that skips records next to one that parks them. Then it deploys one that gives
// records up as dead.
func changePolicy(w *world) {
	gives := func(a relay.Action) relay.Config {
		return relay.Config{Policies: []relay.Policy{{Action: a, Attempts: 1}}}
	}
	old := w.relay(group{}, gives(relay.Skip), w.sink())
	w.progress(20)
	next := w.relay(group{}, relay.Config{}, w.sink())
	w.says("relays of the group have different policies; the one that loses less counts")
	w.refuses.Store(true)
	w.parked()
	w.stopped(old)
	w.progress(20)
	w.relay(group{}, gives(relay.DeadLetter), w.sink())
	w.stopped(next)
	w.progress(20)
	w.says("what is parked stays parked")
}

// changeOrder goes to total order and back.
func changeOrder(w *world) {
	w.refuses.Store(true)
	old := w.relay(group{}, relay.Config{}, w.sink())
	w.progress(20)
	w.parked()
	w.stopped(old)
	total := relay.Config{TotalOrder: true, Policies: []relay.Policy{{Action: relay.Block}}}
	w.refused(group{}, total, w.sink(), "set aside")
	w.refuses.Store(false)
	old = w.relay(group{}, relay.Config{}, w.sink())
	w.redrive()
	w.await("nothing is held", func() bool { return w.stats().Held == 0 })
	next := w.relay(group{}, total, w.sink())
	w.stopped(old)
	w.progress(20)
	w.relay(group{}, relay.Config{}, w.sink())
	w.stopped(next)
	w.progress(20)
}

// changeSink switches with a backlog from franz-go to a publisher of watermill-kafka, for which a topic is
// missing at first.
func changeSink(w *world) {
	w.refuses.Store(true)
	old := w.relay(group{}, relay.Config{}, w.sinkWith(kafkasink.PartitionSarama)) // so that keys stay where they are
	w.progress(20)
	w.parked()
	w.stopped(old)
	w.put(w.orders, "k1", 100)
	pub, err := kafka.NewPublisher(kafka.PublisherConfig{
		Brokers: w.kafka.Brokers,
		Marshaler: kafka.NewWithPartitioningMarshaler(func(_ string, msg *message.Message) (string, error) {
			return msg.Metadata.Get(outbox.HeaderKey), nil
		}),
	}, watermill.NopLogger{})
	require.NoError(w.t, err)
	w.closing = append(w.closing, pub.Close)
	sink, err := wmsink.New(pub, wmsink.Config{Logger: w.log.Logger()})
	require.NoError(w.t, err)
	w.missing.Store(true)
	w.relay(group{}, relay.Config{}, &picky{Sink: sink, w: w, lacks: w.mails})
	w.put(w.mails, "k", 2)
	w.says("topic is not available, its records are set aside", w.mails)
	w.await("operators see what is out", func() bool { g := w.stats(); return len(g.Out) > 0 && g.Retrying > 0 })
	w.missing.Store(false)
	w.progress(20)
}

// changeExactlyOnce switches to exactly once, back, and to exactly once again.
func changeExactlyOnce(w *world) {
	src, block := group{Positions: true}, relay.Config{Policies: []relay.Policy{{Action: relay.Block}}}
	adopts := block
	adopts.AdoptPosition = true
	old := w.relay(src, relay.Config{}, w.sink())
	w.progress(20)
	w.refuses.Store(true)
	w.parked()
	w.stopped(old)
	w.refused(src, block, w.exact(), "set aside")
	w.refuses.Store(false)
	old = w.relay(src, relay.Config{}, w.sink())
	w.redrive()
	w.await("nothing is held", func() bool { return w.stats().Held == 0 })
	w.stopped(old)

	w.refused(src, block, w.exact(), "adopt_position")
	once := w.relay(src, adopts, w.exact())
	w.progress(20)
	w.stopped(once)
	old = w.relay(src, relay.Config{}, w.sink())
	w.progress(20)
	w.stopped(old)
	w.refused(src, block, w.exact(), "relayed through another sink since")
	w.refused(src, adopts, w.exact(), "remove its positions from the sink")
	_, err := w.exact().RemovePositions(w.t.Context(), kafkasink.RemoveRequest{Actor: "ann", Reason: "it was relayed without"})
	require.NoError(w.t, err)
	w.relay(src, adopts, w.exact())
	w.progress(20)
}

// parks returns a configuration that parks a message at its first failure.
func parks() inbox.Config {
	return inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}}
}

// renameConsumer renames a consumer once none of its messages can be delivered again, and its parked
// messages have been redriven.
func renameConsumer(w *world) {
	w.relay(group{}, relay.Config{}, w.sink())
	w.fails.Store(true)
	old := w.consume(w.kafkasource("g"), "billing", manner{Config: parks()}, "billed")
	w.inboxParked("billing", 3)
	w.fails.Store(false)
	w.redriveInbox("billing")
	w.effects("billed")
	w.await("nothing is parked", func() bool { return len(w.inboxHolds()) == 0 })
	w.noLag("g", "billed")
	old.stop()
	w.startWriting()
	w.consume(w.kafkasource("g"), "invoices", manner{Config: parks()}, "billed")
	w.effects("billed")
}

// changeInboxPolicy leaves messages parked while consumers run that park nothing.
func changeInboxPolicy(w *world) {
	w.relay(group{}, relay.Config{}, w.sink())
	w.fails.Store(true)
	old := w.consume(w.kafkasource("g"), "c", manner{Config: parks()}, "billed")
	w.inboxParked("c", 3)
	next := w.consume(w.kafkasource("g"), "c", manner{}, "billed") // it blocks
	w.takes(next)
	old.stop()
	w.inboxParked("c", len(w.inboxHolds())+3)
	w.effects("billed")
	w.consume(w.kafkasource("g"), "c", manner{Config: parks()}, "billed")
	w.fails.Store(false)
	w.redriveInbox("c")
	w.effects("billed")
}

// changeManner takes messages one at a time and in batches, behind a cache, with another driver, and while
// the inbox switches to ranges.
func changeManner(w *world) {
	w.relay(group{}, relay.Config{}, w.sink())
	manners := []manner{{}, {batches: true}, {}}
	if w.ranges != nil {
		manners = []manner{{}, {batches: true}, {cached: true}, {onSQL: true}, {batches: true, onSQL: true}, {}}
	}
	var old *instance
	for i, m := range manners {
		next := w.consume(w.kafkasource("g"), "c", m, "billed")
		w.takes(next)
		if old != nil {
			old.stop()
		}
		w.effects("billed")
		if i == 1 && w.ranges != nil {
			require.NoError(w.t, w.ranges(w.t.Context()))
		}
		old = next
	}
}

// splitHandlers gives a second handler its own group, with the offsets of the first group, and merges them
// again later.
func splitHandlers(w *world) {
	w.relay(group{}, relay.Config{}, w.sink())
	one := w.kafkasource("one")
	both := w.consume(one, "both", manner{}, "billed", "shipped")
	w.effects("billed")
	_, err := one.Subscribe(w.t.Context(), w.orders)
	require.ErrorIs(w.t, err, outbox.ErrInvalidConfig, "a handler that was split shares the partitions of the group")
	w.noLag("one", "billed")
	both.stop()
	w.copyOffsets("one", "two")
	w.startWriting()
	bills := w.consume(w.kafkasource("one"), "bills", manner{}, "billed")
	ships := w.consume(w.kafkasource("two"), "ships", manner{}, "shipped")
	w.effects("billed")
	w.effects("shipped")
	w.noLag("one", "billed")
	w.noLag("two", "shipped")
	bills.stop()
	ships.stop()
	w.startWriting()
	w.consume(w.kafkasource("one"), "both", manner{}, "billed", "shipped")
	w.effects("billed")
}

// changeIDs takes ids from another source, and sets offsets back to the oldest message.
func changeIDs(w *world) {
	w.relay(group{}, relay.Config{}, w.sink())
	old := w.consume(w.kafkasource("g"), "c", manner{}, "billed")
	w.effects("billed")
	other := manner{Config: inbox.Config{IDFrom: inbox.IDWithTopic(inbox.DefaultIDSource())}}
	wrong := w.consume(w.kafkasource("again"), "c", other, "billed") // from the oldest message
	w.says("ids come from another source than those that are remembered", "are remembered: ")
	wrong.stop()
	old.stop()
	w.consume(w.kafkasource("again"), "c", manner{}, "billed")
	w.effects("billed")
}

// changeSubscriber switches from watermill-kafka to kafkasource within one group.
func changeSubscriber(w *world) {
	w.relay(group{}, relay.Config{}, w.sink())
	cfg := kafka.DefaultSaramaSubscriberConfig()
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	theirs, err := kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: w.kafka.Brokers, ConsumerGroup: w.kafka.Name("g"), OverwriteSaramaConfig: cfg,
		Unmarshaler: kafka.DefaultMarshaler{}, NackResendSleep: 10 * time.Millisecond,
	}, watermill.NopLogger{})
	require.NoError(w.t, err)
	old := w.consume(theirs, "c", manner{}, "billed")
	w.effects("billed")
	cooperates := w.consume(w.kafkasource("g"), "c", manner{}, "billed")
	w.says("RangeBalancer")
	cooperates.stop()
	mixes := w.consume(w.kafkasource("g", kgo.Balancers(kgo.RangeBalancer())), "c", manner{}, "billed")
	w.takes(mixes)
	old.stop()
	w.effects("billed")
}

// leftOut writes messages that the relay leaves out. A line of the log must have announced that.
func (w *world) leftOut(topic string, n int, parts ...string) {
	w.t.Helper()
	require.True(w.t, w.said(parts...), "%q before messages are left out", parts)
	w.left = append(w.left, w.put(topic, "left", n)...)
}

// copyOffsets copies the offsets of one group to another, as Kafka's tools do.
func (w *world) copyOffsets(from, to string) {
	w.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.kafka.Brokers...))
	require.NoError(w.t, err)
	defer client.Close()
	tools := kadm.NewClient(client)
	offsets, err := tools.FetchOffsets(w.t.Context(), w.kafka.Name(from))
	require.NoError(w.t, err)
	require.NoError(w.t, tools.CommitAllOffsets(w.t.Context(), w.kafka.Name(to), offsets.Offsets()))
}

// noLag stops the producers until the group has processed and acknowledged everything, so that none of it
// is delivered again.
func (w *world) noLag(group, table string) {
	w.t.Helper()
	w.stopWriting()
	w.await("all is done in "+table, func() bool { return w.done(table) })
	w.acknowledged(group)
}

// acknowledged waits until a group has acknowledged all that was sent.
func (w *world) acknowledged(group string) {
	w.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.kafka.Brokers...))
	require.NoError(w.t, err)
	defer client.Close()
	tools, name := kadm.NewClient(client), w.kafka.Name(group)
	w.await("group "+group+" has no lag", func() bool {
		lags, err := tools.Lag(w.t.Context(), name)
		lag, known := lags[name]
		return err == nil && known && lag.Error() == nil && lag.Lag.Total() == 0
	})
}

// judge reads Kafka and the tables of effects, and returns what is wrong with them.
func (w *world) judge() (wrong []string) {
	w.t.Helper()
	sent, wrong := w.sent()
	seen := w.compare("", sent)
	if w.repeats {
		seen.wrong = slices.DeleteFunc(seen.wrong, func(what string) bool { return strings.HasPrefix(what, "doubled: ") })
	}
	wrong = append(wrong, seen.wrong...)
	for id := range w.written {
		if !seen.ids[id] && !slices.Contains(w.left, id) {
			wrong = append(wrong, "lost: "+id)
		}
	}
	for table := range w.judged {
		seen := w.compare(" effect in "+table, w.effectsIn(table))
		wrong = append(wrong, seen.wrong...)
		for id, e := range w.written {
			if e.topic == w.orders && !seen.ids[id] {
				wrong = append(wrong, "lost effect in "+table+": "+id)
			}
		}
	}
	w.t.Logf("%d messages of %d keys, %d left out with a word, %d tables of effects", len(w.written), len(w.order), len(w.left), len(w.judged))
	return wrong
}

type comparison struct {
	ids   map[string]bool
	wrong []string
}

// compare checks ids in the order of their arrival.
func (w *world) compare(what string, ids []string) (c comparison) {
	c.ids = map[string]bool{}
	last := map[driver.Key]int{}
	for _, id := range ids {
		e, ok := w.written[id]
		at := driver.Key{Topic: e.topic, Key: e.key}
		switch {
		case !ok:
			c.wrong = append(c.wrong, "made up"+what+": "+id)
		case c.ids[id]:
			c.wrong = append(c.wrong, "doubled"+what+": "+id)
		case e.key != "" && e.no < last[at]:
			c.wrong = append(c.wrong, "out of order"+what+": "+id)
		}
		c.ids[id] = true
		last[at] = max(last[at], e.no)
	}
	return c
}
