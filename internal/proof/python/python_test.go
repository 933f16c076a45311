package python_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

//leat:level 2
func TestMain(m *testing.M) { testenv.Main(m) }

// id returns the event id from the header that the relay sets.
func id(r *kgo.Record) string {
	for _, h := range r.Headers {
		if h.Key == outbox.HeaderEventID {
			return string(h.Value)
		}
	}
	return ""
}

// Producers and consumers in Python, and a table with a trigger: nothing is lost, duplicated, made up or
// out of order, although a producer and a consumer are killed in the middle of their work, and every third
// message is delivered twice.
func TestPython_History(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var producers errgroup.Group
	producers.Go(func() error {
		if err := s.produce("p0", 60, 25); err != nil {
			return err
		}
		return s.produce("p0-again", 30, 0)
	})
	producers.Go(func() error { return s.produce("p1", 60, 0) })
	s.consume(&producers, 10)
	v := s.judge()
	require.Empty(t, v.Violated(), "%+v", v.Checks)
	for _, name := range []string{"O1", "O2", "O3", "O4", "O5", "I1", "I2", "I3", "order", "conservation"} {
		f, ok := v.Finding(name)
		require.True(t, ok && f.Unjudged == "" && f.Checked > 0, "%s is not judged: %+v", name, f)
	}
}

// The same checks convict a producer that enqueues outside its transaction, and a consumer that does not
// claim.
func TestPython_Convicted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var producers errgroup.Group
	producers.Go(func() error { return s.produce("p0", 20, 0, "--outside") })
	s.consume(&producers, 0, "--without-claim")
	require.Subset(t, s.judge().Violated(), []string{"O3", "I1"})
}

// consume delivers the messages of the topic, each partition to its own process, until the producers are
// done and everything in the outbox has arrived. The first process is killed at message number kill.
func (s *shop) consume(producers *errgroup.Group, kill int, flags ...string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(testenv.Kafka(s.t).Brokers...), kgo.ConsumeTopics(s.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(s.t, err)
	defer client.Close()
	consumers := []*consumer{{s: s, flags: flags}, {s: s, flags: flags}}
	for _, c := range consumers {
		c.start()
	}
	produced := make(chan error, 1)
	go func() { produced <- producers.Wait() }()
	dump, err := history.Dump(filepath.Join(s.dir, "records.jsonl"))
	require.NoError(s.t, err)
	wanted, seen, delivered := -1, map[string]bool{}, 0
	for wanted < 0 || len(seen) < wanted {
		select {
		case err := <-produced:
			require.NoError(s.t, err)
			require.NoError(s.t, s.db.Pool.QueryRow(s.ctx, "SELECT count(*) FROM leat.outbox").Scan(&wanted))
		default:
		}
		soon, cancel := context.WithTimeout(s.ctx, 100*time.Millisecond)
		fetches := client.PollFetches(soon)
		cancel()
		require.NoError(s.t, s.ctx.Err(), "%d of %d messages have come", len(seen), wanted)
		fetches.EachRecord(func(r *kgo.Record) {
			sum := sha256.Sum256(r.Value)
			require.NoError(s.t, dump.Write(history.Line{
				Type: history.Record, Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, ID: id(r), Key: string(r.Key), Digest: hex.EncodeToString(sum[:]),
			}))
			seen[id(r)] = true
			c := consumers[r.Partition]
			c.deliver(r, delivered+1 == kill)
			if delivered++; delivered%3 == 0 {
				c.deliver(r, false)
			}
		})
	}
	for _, c := range consumers {
		require.NoError(s.t, c.end(false))
	}
	require.NoError(s.t, dump.End(history.Line{Of: history.Record}))
	require.NoError(s.t, dump.Close())
}

// judge dumps the tables, and runs the checker on the history.
func (s *shop) judge() history.Verdict {
	s.t.Helper()
	dump, err := history.Dump(filepath.Join(s.dir, "tables.jsonl"))
	require.NoError(s.t, err)
	s.dump(dump, history.Line{Type: history.Ledger}, history.Line{}, "SELECT id, key, version, amount, 0::bigint, 0::bigint FROM ledger")
	s.dump(dump, history.Line{Type: history.EffectRow, Consumer: "books"}, history.Line{Consumer: "books", Topic: s.topic},
		"SELECT id, key, version, amount, no, 0::bigint FROM effects")
	for table, consumer := range map[string]string{"account": "", "book": "books"} {
		s.dump(dump, history.Line{Type: history.Balance, Consumer: consumer}, history.Line{Consumer: consumer},
			"SELECT '', key, 0::bigint, amount, 0::bigint, 100::bigint FROM "+table)
	}
	require.NoError(s.t, dump.Close())
	if keep := os.Getenv("LEAT_KEEP_HISTORY"); keep != "" {
		require.NoError(s.t, os.CopyFS(filepath.Join(keep, s.t.Name()), os.DirFS(s.dir)))
	}
	v, err := history.Check(s.ctx, s.dir, history.Options{})
	require.NoError(s.t, err)
	return v
}

// dump writes the rows of a query: id, key, version, amount, row and opening.
func (s *shop) dump(to *history.Writer, line, end history.Line, sql string) {
	s.t.Helper()
	rows, err := s.db.Pool.Query(s.ctx, sql)
	require.NoError(s.t, err)
	_, err = pgx.ForEachRow(rows, []any{&line.ID, &line.Key, &line.Version, &line.Amount, &line.Row, &line.Opening}, func() error { return to.Write(line) })
	require.NoError(s.t, err)
	end.Of = line.Type
	require.NoError(s.t, to.End(end))
}
