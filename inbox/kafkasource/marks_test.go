package kafkasource_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// shop is a topic, and a database that can be put back to what it was.
type shop struct {
	env   *testenv.KafkaEnv
	pool  *pgxpool.Pool
	topic string
	wrote int
	noted *noted
}

// noted is what the group's offsets are noted in, and tells when they are.
type noted struct {
	driver.Marker

	mu      sync.Mutex
	next    map[int32]int64
	changed chan struct{}
	takes   time.Duration // how long it takes to read marks
}

func (n *noted) Marks(ctx context.Context, of driver.GroupTopic) (driver.Marks, error) {
	time.Sleep(n.takes)
	return n.Marker.Marks(ctx, of)
}

func (n *noted) SetMarks(ctx context.Context, of driver.GroupTopic, history string, marks map[int32]driver.Mark) (string, error) {
	token, err := n.Marker.SetMarks(ctx, of, history, marks)
	if err != nil {
		return "", err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for partition, m := range marks {
		n.next[partition] = m.Next
	}
	close(n.changed)
	n.changed = make(chan struct{})
	return token, nil
}

// await waits until a partition's mark is at next.
func (n *noted) await(t *testing.T, partition int32, next int64) { //nolint:unparam // names what is awaited
	t.Helper()
	for {
		n.mu.Lock()
		at, is := n.next[partition]
		changed := n.changed
		n.mu.Unlock()
		if is && at == next {
			return
		}
		await(t, changed, fmt.Sprintf("partition %d is marked at %d", partition, next))
	}
}

func newShop(t *testing.T, partitions int) *shop {
	t.Helper()
	env := testenv.RealKafka(t)
	pool := database(t)
	in, err := pginbox.New(pool, "marks", pginbox.Config{})
	require.NoError(t, err)
	return &shop{
		env: env, pool: pool, topic: env.Topic(t, "marks", partitions),
		noted: &noted{Marker: in, next: map[int32]int64{}, changed: make(chan struct{})},
	}
}

func (s *shop) group() string { return s.env.Name("group") }

// write writes n messages to a partition.
func (s *shop) write(t *testing.T, partition int32, n int) {
	t.Helper()
	for range n {
		require.NoError(t, client(t, s.env.Brokers).ProduceSync(t.Context(), record(s.topic, partition, strconv.Itoa(s.wrote), "")).FirstErr())
		s.wrote++
	}
}

// marked is brisk with marks.
func (s *shop) marked() kafkasource.Config {
	cfg := brisk()
	cfg.Marks = s.noted
	return cfg
}

func (s *shop) work(t *testing.T, cfg kafkasource.Config) *worker {
	t.Helper()
	return work(t.Context(), t, s.pool, s.env, s.topic, "w", cfg, easy)
}

// process lets a worker process n messages, and stops it.
func (s *shop) process(t *testing.T, cfg kafkasource.Config, n int) {
	t.Helper()
	w := s.work(t, cfg)
	w.ends.await(t, inbox.OutcomeCommitted, n)
	w.stop()
}

// backup copies what the database remembers; restore puts it back.
const (
	backup = `CREATE SCHEMA backup; CREATE TABLE backup.inbox AS TABLE leat.inbox; CREATE TABLE backup.marks AS TABLE leat.inbox_marks;
		CREATE TABLE backup.effects AS TABLE effects`
	restore = `DELETE FROM leat.inbox; DELETE FROM leat.inbox_marks; DELETE FROM effects; INSERT INTO leat.inbox TABLE backup.inbox;
		INSERT INTO leat.inbox_marks TABLE backup.marks; INSERT INTO effects TABLE backup.effects`
)

func (s *shop) exec(t *testing.T, sql string) {
	t.Helper()
	require.NoError(t, pgx.BeginTxFunc(t.Context(), s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), sql)
		return err
	}))
}

// setGroup commits an offset as an operator's tool does.
func (s *shop) setGroup(t *testing.T, at int64) {
	t.Helper()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: s.topic, At: at, LeaderEpoch: -1})
	require.NoError(t, kadm.NewClient(client(t, s.env.Brokers)).CommitAllOffsets(t.Context(), s.group(), offsets))
}

// TestI14_DatabaseThatWentBack: what the database has lost is delivered again, and nobody has to
// say so.
func TestI14_DatabaseThatWentBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg     func(cfg *kafkasource.Config)
		begin   [2]int64 // the offset, and how many are reported
		effects int
	}{
		"marks":       {func(*kafkasource.Config) {}, [2]int64{4, 6}, 11},
		"report only": {func(cfg *kafkasource.Config) { cfg.MarksReportOnly = true }, [2]int64{10, 6}, 5},
		"no marks":    {func(cfg *kafkasource.Config) { cfg.Marks = nil }, [2]int64{10, 0}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, 1)
			cfg, log := s.marked(), testenv.NewLog()
			c.cfg(&cfg)
			cfg.Logger = log.Logger()
			s.write(t, 0, 4)
			s.process(t, cfg, 4)
			s.exec(t, backup)
			s.write(t, 0, 6)
			s.process(t, cfg, 6)
			s.exec(t, restore)
			s.write(t, 0, 1)

			w := s.work(t, cfg)
			begun := w.parts.await(t, kafkasource.Assigned, 1)
			require.Equal(t, [2]int64{begun.Offset, begun.WentBack}, c.begin)
			w.ends.await(t, inbox.OutcomeCommitted, c.effects-4)
			w.stop()
			require.Equal(t, [2]int{c.effects, c.effects}, effects(t, s.pool))
			require.EqualValues(t, 11, committed(t, s.env.Brokers, s.group(), s.topic, 0))
			if cfg.Marks != nil {
				log.Await(t, "ERROR", basis.ErrGroupAhead.Says, "partitions=1", "messages=6")
			}
		})
	}
}

// TestI14_DatabaseThatGoesBackUnderASession: a session notices although nothing arrives, and
// although its next mark would fit in the new history.
func TestI14_DatabaseThatGoesBackUnderASession(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	w := s.work(t, s.marked())
	s.write(t, 0, 3)
	w.ends.await(t, inbox.OutcomeCommitted, 3)
	s.noted.await(t, 0, 3)
	s.exec(t, backup)
	s.write(t, 0, 4)
	w.ends.await(t, inbox.OutcomeCommitted, 7)
	s.noted.await(t, 0, 7)
	s.exec(t, restore)
	begun := w.parts.await(t, kafkasource.Assigned, 2)
	require.Equal(t, [2]int64{3, 4}, [2]int64{begun.Offset, begun.WentBack})
	require.Equal(t, kafkasource.Released, w.parts.await(t, kafkasource.Released, 1).Kind, "others need not wait for a session timeout")
	w.ends.await(t, inbox.OutcomeCommitted, 11)
	w.stop()
	require.Equal(t, [2]int{7, 7}, effects(t, s.pool))
	require.EqualValues(t, 7, committed(t, s.env.Brokers, s.group(), s.topic, 0))
}

// TestI14_OrderOfADatabaseThatGoesBack: a delivery that fails because the database goes back is not
// repeated before those that the database has lost.
func TestI14_OrderOfADatabaseThatGoesBack(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	cfg := s.marked()
	cfg.SessionTimeout = 45 * time.Second // so that nobody looks at the marks by chance
	s.noted.takes = 50 * time.Millisecond // ten times as long as a redelivery waits
	failed := false
	w := work(t.Context(), t, s.pool, s.env, s.topic, "w", cfg, func(_ context.Context, msg *message.Message) error {
		if msg.UUID != "7" || failed {
			return nil
		}
		failed = true
		s.exec(t, restore)
		return errors.New("the connection is lost")
	})
	s.write(t, 0, 3)
	w.ends.await(t, inbox.OutcomeCommitted, 3)
	s.noted.await(t, 0, 3)
	s.exec(t, backup)
	s.write(t, 0, 4)
	w.ends.await(t, inbox.OutcomeCommitted, 7)
	s.noted.await(t, 0, 7)
	s.write(t, 0, 1)
	w.ends.await(t, inbox.OutcomeCommitted, 12)
	w.stop()
	var order string
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT string_agg(effect, ' ' ORDER BY xmin::text::bigint, effect) FROM effects`).Scan(&order))
	require.Equal(t, "0 1 2 3 4 5 6 7", order)
}

// TestI14_MessagesCarryTheirHistory: so that an inbox can compare it with that of a new connection.
func TestI14_MessagesCarryTheirHistory(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	marks, err := s.noted.Marks(t.Context(), driver.GroupTopic{})
	require.NoError(t, err)
	w := work(t.Context(), t, s.pool, s.env, s.topic, "w", s.marked(), func(ctx context.Context, _ *message.Message) error {
		if from, history := driver.MarksFrom(ctx); from != s.noted || history != marks.History {
			return fmt.Errorf("carries %v and %q, want %v and %q", from, history, s.noted, marks.History)
		}
		return nil
	})
	s.write(t, 0, 1)
	w.ends.await(t, inbox.OutcomeCommitted, 1)
}

// TestI14_OffsetOfAnOperatorCounts: forward as well as back.
func TestI14_OffsetOfAnOperatorCounts(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{8, 2} {
		t.Run(strconv.FormatInt(at, 10), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, 1)
			s.write(t, 0, 5)
			s.process(t, s.marked(), 5)
			s.write(t, 0, 5)
			s.setGroup(t, at)
			w := s.work(t, s.marked())
			begun := w.parts.await(t, kafkasource.Assigned, 1)
			require.Equal(t, [2]int64{at, 0}, [2]int64{begun.Offset, begun.WentBack})
			w.ends.await(t, inbox.OutcomeCommitted, int(10-max(at, 5)))
			w.stop()
			s.noted.await(t, 0, 10)
			require.EqualValues(t, 10, committed(t, s.env.Brokers, s.group(), s.topic, 0))
		})
	}
}

// TestI14_DatabaseWithoutTheGroup: what was processed might run again, and what was lost might be
// left out. An operator says which.
func TestI14_DatabaseWithoutTheGroup(t *testing.T) {
	t.Parallel()
	for _, reportOnly := range []bool{false, true} {
		t.Run(strconv.FormatBool(reportOnly), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, 1)
			s.write(t, 0, 5)
			s.process(t, s.marked(), 5)
			s.exec(t, `DELETE FROM leat.inbox_marks; DELETE FROM leat.inbox; DELETE FROM effects`)
			s.write(t, 0, 1)
			cfg, log := s.marked(), testenv.NewLog()
			cfg.Logger, cfg.MarksReportOnly = log.Logger(), reportOnly
			w := s.work(t, cfg)
			log.Await(t, "ERROR", basis.ErrNoMarks.Says, "1 partitions", "leat inbox rewind")
			if !reportOnly {
				w.stop()
				require.Equal(t, [2]int{}, effects(t, s.pool))
				s.setGroup(t, 3)
				w = s.work(t, cfg)
				require.EqualValues(t, 3, w.parts.await(t, kafkasource.Assigned, 1).Offset)
				w.ends.await(t, inbox.OutcomeCommitted, 3)
				return
			}
			require.EqualValues(t, 5, w.parts.await(t, kafkasource.Assigned, 1).Offset)
			w.ends.await(t, inbox.OutcomeCommitted, 1)
		})
	}
}

// TestI14_PartitionThatIsYoungerThanTheDatabase: the database went back to before the partition's
// first mark, and it begins where that was.
func TestI14_PartitionThatIsYoungerThanTheDatabase(t *testing.T) {
	t.Parallel()
	s := newShop(t, 2)
	s.write(t, 1, 2) // left out: the group begins with what comes later
	cfg := s.marked()
	cfg.StartNewest = true
	w := s.work(t, cfg)
	w.parts.await(t, kafkasource.Assigned, 2)
	s.noted.await(t, 0, 0)
	s.write(t, 0, 3)
	s.write(t, 1, 3)
	w.ends.await(t, inbox.OutcomeCommitted, 6)
	w.stop()
	s.exec(t, `DELETE FROM leat.inbox_marks WHERE part = 1; DELETE FROM leat.inbox; DELETE FROM effects`)
	w = s.work(t, cfg)
	w.ends.await(t, inbox.OutcomeCommitted, 3)
	w.stop()
	begun := map[int32][2]int64{}
	for _, e := range w.parts.history {
		if e.Kind == kafkasource.Assigned {
			begun[e.Partition] = [2]int64{e.Offset, e.WentBack}
		}
	}
	require.Equal(t, map[int32][2]int64{0: {3, 0}, 1: {2, 3}}, begun)
}

// TestI14_MarkThatRetentionHasPassed: what the broker has deleted cannot be delivered again, and is
// reported.
func TestI14_MarkThatRetentionHasPassed(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	s.write(t, 0, 2)
	w := s.work(t, s.marked())
	s.noted.await(t, 0, 2)
	w.stop()
	s.exec(t, backup)
	s.write(t, 0, 8)
	w = s.work(t, s.marked())
	s.noted.await(t, 0, 10)
	w.stop()
	s.exec(t, restore)
	upTo := kadm.Offsets{}
	upTo.Add(kadm.Offset{Topic: s.topic, At: 6, LeaderEpoch: -1})
	_, err := kadm.NewClient(client(t, s.env.Brokers)).DeleteRecords(t.Context(), upTo)
	require.NoError(t, err)
	w = s.work(t, s.marked())
	begun := w.parts.await(t, kafkasource.Assigned, 1)
	require.Equal(t, [3]int64{6, 8, 4}, [3]int64{begun.Offset, begun.WentBack, begun.Deleted})
	w.ends.await(t, inbox.OutcomeCommitted, 4)
}

// refusing notes nothing until it may.
type refusing struct {
	driver.Marker

	may   atomic.Bool
	tries chan struct{}
}

func (r *refusing) SetMarks(ctx context.Context, of driver.GroupTopic, history string, marks map[int32]driver.Mark) (string, error) {
	if !r.may.Load() {
		r.tries <- struct{}{}
		return "", errors.New("the database is away")
	}
	return r.Marker.SetMarks(ctx, of, history, marks)
}

// TestI14_NoOffsetBeforeItsMark: the brokers never know of more than the database.
func TestI14_NoOffsetBeforeItsMark(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	marks := &refusing{Marker: s.noted, tries: make(chan struct{}, 1000)}
	cfg := s.marked()
	cfg.Marks = marks
	s.write(t, 0, 3)
	w := s.work(t, cfg)
	w.ends.await(t, inbox.OutcomeCommitted, 3)
	for range 3 {
		await(t, marks.tries, "the member tries to note its offsets")
		require.EqualValues(t, -1, committed(t, s.env.Brokers, s.group(), s.topic, 0))
	}
	marks.may.Store(true)
	s.noted.await(t, 0, 3)
	w.stop()
	require.EqualValues(t, 3, committed(t, s.env.Brokers, s.group(), s.topic, 0))
}

// TestI14_TopicMadeAgainWithMarks: marks of the former topic say nothing about the new one.
func TestI14_TopicMadeAgainWithMarks(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	s.write(t, 0, 3)
	s.process(t, s.marked(), 3)
	offsets := kadm.Offsets{} // as a commit leaves it that comes after the topic is gone
	offsets.Add(kadm.Offset{Topic: s.topic, At: 3, LeaderEpoch: -1, Metadata: "leat topic-id=8a2f4f4e-1a52-4b5e-9d77-0f5a3d1c9e10 marks-since=0"})
	require.NoError(t, kadm.NewClient(client(t, s.env.Brokers)).CommitAllOffsets(t.Context(), s.group(), offsets))
	w := s.work(t, s.marked())
	begun := w.parts.await(t, kafkasource.Assigned, 1)
	require.Equal(t, [2]int64{0, 0}, [2]int64{begun.Offset, begun.WentBack})
	w.ends.await(t, inbox.OutcomeDuplicate, 3)
}

//leat:level 0
func TestI14_MarksThatCannotWork(t *testing.T) {
	t.Parallel()
	seek := func(context.Context, []driver.Assignment) ([]int64, error) { return nil, nil }
	for want, cfg := range map[string]kafkasource.Config{
		"Marks = set: must not be set with Seek":                   {Marks: &refusing{}, Seek: seek},
		"MarksReportOnly = true: must not be set without Marks":    {MarksReportOnly: true},
		"Marks = set: must not be set with NoGroup, which commits": {Marks: &refusing{}, NoGroup: true},
	} {
		group := "g"
		if cfg.NoGroup {
			group = ""
		}
		_, err := kafkasource.NewSubscriber([]string{"127.0.0.1:1"}, group, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
}

// TestI14_FailoverThatLosesCommits: a standby that has not received the last commits is promoted,
// once while nobody consumes and once under a session that is led to it.
//
//leat:level 4
func TestI14_FailoverThatLosesCommits(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{false, true} {
		t.Run(strconv.FormatBool(running), func(t *testing.T) {
			t.Parallel()
			server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
			standby := server.Standby(t)
			db := server.Database(t)
			prepare(t, db)
			var there atomic.Pointer[string]
			there.Store(new(server.Address()))
			cfg, err := pgxpool.ParseConfig(db.URL)
			require.NoError(t, err)
			cfg.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, *there.Load())
			}
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			in, err := pginbox.New(pool, "marks", pginbox.Config{})
			require.NoError(t, err)
			env := testenv.RealKafka(t)
			s := &shop{
				env: env, pool: pool, topic: env.Topic(t, "failover", 1),
				noted: &noted{Marker: in, next: map[int32]int64{}, changed: make(chan struct{})},
			}
			w := s.work(t, s.marked())
			s.write(t, 0, 4)
			w.ends.await(t, inbox.OutcomeCommitted, 4)
			s.noted.await(t, 0, 4)
			standby.Cut()
			other := cfg.Copy()
			other.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, standby.Address())
			}
			follower, err := pgxpool.NewWithConfig(t.Context(), other)
			require.NoError(t, err)
			defer follower.Close()
			s.write(t, 0, 6)
			w.ends.await(t, inbox.OutcomeCommitted, 10)
			s.noted.await(t, 0, 10)
			if !running {
				w.stop()
			}
			server.Stop("immediate")
			_, err = follower.Exec(t.Context(), "SELECT pg_promote(true, 60)")
			require.NoError(t, err)
			require.Equal(t, [2]int{4, 4}, effects(t, follower), "the control: commits are lost")
			there.Store(new(standby.Address()))
			pool.Reset()
			assigned, processed := 2, 16
			if !running {
				w, assigned, processed = s.work(t, s.marked()), 1, 6
			}
			begun := w.parts.await(t, kafkasource.Assigned, assigned)
			require.Equal(t, [2]int64{4, 6}, [2]int64{begun.Offset, begun.WentBack})
			w.ends.await(t, inbox.OutcomeCommitted, processed)
			w.stop()
			require.Equal(t, [2]int{10, 10}, effects(t, follower))
		})
	}
}
