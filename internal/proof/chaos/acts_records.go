package chaos

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
)

// Numbers of records that the acts add.
const (
	missingTopics = 2000
	largeRecords  = 400 // of each kind
	longIDs       = 5   // of each kind
	// short divides these numbers in a run that ends after a number of faults.
	short = 5
)

// scaled returns n, or less in a short run.
func (o Options) scaled(n int) int {
	if o.Faults > 0 {
		return n / short
	}
	return n
}

// arriveWithin is how long blocked messages may take to arrive.
const arriveWithin = 3 * time.Minute

// topicsMissing makes the bank enqueue messages for many topics that do not exist.
func (in *injection) topicsMissing(ctx context.Context, f *fault) error {
	n := in.stage.options.scaled(missingTopics)
	if err := in.enqueue(ctx, n, roles.KindAstray); err != nil {
		return err
	}
	f.consequence = in.passes(ctx, "while topics are missing")
	topics := make([]string, n)
	for n := range topics {
		topics[n] = roles.TopicAstray(n)
	}
	return in.supply(ctx, topics, "messages for topics that were missing")
}

// recordsOfMegabytes makes the bank enqueue messages of a megabyte, for a topic that does not
// exist, and for one that refuses them.
func (in *injection) recordsOfMegabytes(ctx context.Context, f *fault) error {
	if err := in.enqueue(ctx, in.stage.options.scaled(largeRecords), roles.KindLarge, roles.KindTooLarge); err != nil {
		return err
	}
	f.consequence = in.passes(ctx, "while megabytes wait for a missing topic")
	if err := in.supply(ctx, []string{roles.TopicLarge}, "messages of megabytes"); err != nil {
		return err
	}
	in.clears(ctx, "messages that no topic takes", arriveWithin, in.unsent(roles.KeyOf(roles.KindTooLarge)))
	return nil
}

// idsOfKilobytes makes the bank enqueue messages with long ids: some arrive, some cannot be sent,
// and some cannot be handled.
func (in *injection) idsOfKilobytes(ctx context.Context, f *fault) error {
	parked := func(ctx context.Context) (n int64, err error) {
		return n, in.stage.ledger.QueryRow(ctx, `SELECT count(*) FROM leat.inbox_parked WHERE length(message_id) > 1000`).Scan(&n)
	}
	before, err := parked(ctx)
	if err != nil {
		return fmt.Errorf("count what is parked: %w", err)
	}
	if err := in.enqueue(ctx, longIDs, roles.KindLongID, roles.KindLongIDTooLarge, roles.KindLongIDPoison); err != nil {
		return err
	}
	f.consequence = in.passes(ctx, "beside ids of kilobytes")
	in.clears(ctx, "messages with long ids", arriveWithin, in.unsent("long-id"))
	in.clears(ctx, "messages with long ids that the ledger has to park", goOnWithin, func(ctx context.Context) (int64, error) {
		now, err := parked(ctx)
		return before + longIDs - now, err
	})
	return nil
}

// hostileRecords is how many records of each hostile kind there are.
const hostileRecords = 4

// recordsHostile returns an act in which producers write, with plain SQL, records that leat's
// libraries would refuse. The relay parks them, and the operator drops them.
func (in *injection) recordsHostile(kinds ...string) func(context.Context, *fault) error {
	return func(ctx context.Context, f *fault) error {
		if err := in.enqueue(ctx, hostileRecords, kinds...); err != nil {
			return err
		}
		f.consequence = in.passes(ctx, "beside hostile records")
		for _, kind := range kinds {
			in.clears(ctx, "records of the kind "+kind, goOnWithin, in.unsent(roles.KeyOf(kind)))
		}
		return nil
	}
}

// enqueue makes the bank commit n events of each kind while the relays are down. When the relays start,
// they find exactly these events.
func (in *injection) enqueue(ctx context.Context, n int, kinds ...string) error {
	banks, relays := in.processes.of(roles.Bank), in.processes.of(roles.Relay)
	tellAll(banks, roles.Command{Do: roles.DoRest})
	defer tellAll(banks, roles.Command{Do: roles.DoWork})
	in.clears(ctx, "messages before others are enqueued", goOnWithin, bounded(in.ground().toSend))
	holdAll(relays)
	defer releaseAll(relays)
	for _, kind := range kinds {
		if err := in.enqueueKind(ctx, n, kind, enqueuedWithin); err != nil {
			return err
		}
	}
	return nil
}

// enqueuedWithin is how long the bank may take for n events.
const enqueuedWithin = 2 * time.Minute

func (in *injection) enqueueKind(ctx context.Context, n int, kind string, within time.Duration) error {
	count := bounded(func(ctx context.Context) (int64, error) { return in.ground().booked(ctx, roles.KeyOf(kind)) })
	before, err := count(ctx)
	if err != nil {
		return fmt.Errorf("count the events of %q: %w", kind, err)
	}
	in.processes.of(roles.Bank)[0].tell(roles.Command{Do: roles.DoEnqueue, Kind: kind, Count: n})
	for end := time.Now().Add(within); time.Now().Before(end); wait.Full(ctx, 100*time.Millisecond) {
		now, err := count(ctx)
		if err == nil && now >= before+int64(n) {
			return nil
		}
	}
	return fmt.Errorf("the bank has not enqueued %d events %q within %s", n, kind, within)
}

// passes checks that transfers pass during the act, and returns the observation. meanwhile describes the
// act.
func (in *injection) passes(ctx context.Context, meanwhile string) string {
	began := time.Now()
	if in.flows(ctx, passWithin) {
		fmt.Fprintf(in.stage.options.Out, "a transfer passed %s in %s\n", meanwhile, time.Since(began).Round(time.Millisecond))
		return "transfers pass " + meanwhile
	}
	in.stood("no transfer arrives within %s %s", passWithin, meanwhile)
	return "no transfer passes " + meanwhile
}

// supply creates missing topics, waits until all their messages have arrived, and deletes the topics
// again.
func (in *injection) supply(ctx context.Context, topics []string, what string) error {
	admin := kadm.NewClient(in.stage.client)
	appended := "LogAppendTime"
	made, err := admin.CreateTopics(ctx, 1, 1, map[string]*string{"message.timestamp.type": &appended}, topics...)
	if err == nil {
		err = made.Error()
	}
	if err != nil {
		return fmt.Errorf("create %d topics: %w", len(topics), err)
	}
	in.clears(ctx, what, arriveWithin, in.inBank(`
		SELECT (SELECT count(*) FROM leat.outbox_pending WHERE topic = ANY($1))
		     + (SELECT count(*) FROM leat.outbox_held WHERE topic = ANY($1))`, topics))
	return in.stage.retire(ctx, topics...)
}

// supplyAgain supplies deleted topics that are needed once more: relays that start over send again the
// records that the log still has.
func (in *injection) supplyAgain(ctx context.Context) error {
	gone := slices.Collect(maps.Keys(in.stage.times))
	gone = slices.DeleteFunc(gone, func(topic string) bool { return topic == roles.TopicTransfers }) // this topic exists
	rows, err := in.stage.bank.Query(ctx, `
		SELECT DISTINCT topic FROM leat.outbox_pending WHERE topic = ANY($1)
		UNION SELECT DISTINCT topic FROM leat.outbox_held WHERE topic = ANY($1)`, gone)
	if err != nil {
		return fmt.Errorf("look for topics that are needed again: %w", err)
	}
	topics, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(topics) == 0 {
		return err
	}
	return in.supply(ctx, topics, "messages sent again for topics that were taken away")
}

// retire records the contents of topics in the history and deletes the topics.
func (st *stage) retire(ctx context.Context, topics ...string) error {
	st.dumps++
	w, err := history.Dump(filepath.Join(st.historyDir(), fmt.Sprintf("dump-topics-%d.jsonl", st.dumps)))
	if err != nil {
		return err
	}
	d := dumper{out: w}
	err = d.records(ctx, st, func(history.Line, time.Time) {}, topics...)
	if err := w.Close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	gone, err := kadm.NewClient(st.client).DeleteTopics(ctx, topics...)
	if err == nil {
		err = gone.Error()
	}
	if err != nil {
		return fmt.Errorf("delete %d topics: %w", len(topics), err)
	}
	for _, topic := range topics {
		st.times[topic]++
	}
	return nil
}

// firstOffset is added to the offsets of a topic in the history: the offsets of a recreated topic
// follow those of its predecessor.
func (st *stage) firstOffset(topic string) int64 { return st.times[topic] << 40 }
