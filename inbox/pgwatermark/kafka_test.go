package pgwatermark_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// wmStage is a topic on a real broker and a database to consume it into.
type wmStage struct {
	db     *testenv.Database
	broker *testenv.KafkaEnv
	client *kgo.Client
	admin  *kadm.Client
	topic  string
	group  string
}

func newWMStage(t *testing.T, partitions int) *wmStage {
	t.Helper()
	s := &wmStage{db: testenv.Postgres(t, template), broker: testenv.RealKafka(t)}
	s.topic, s.group = s.broker.Topic(t, "events", partitions), s.broker.Name("group")
	var err error
	s.client, err = kgo.NewClient(kgo.SeedBrokers(s.broker.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	t.Cleanup(s.client.Close)
	s.admin = kadm.NewClient(s.client)
	return s
}

// produce writes count messages, in turn to each partition.
func (s *wmStage) produce(t *testing.T, count, partitions int) {
	t.Helper()
	records := make([]*kgo.Record, count)
	for i := range records {
		records[i] = &kgo.Record{Topic: s.topic, Partition: int32(i % partitions), Value: []byte(strconv.Itoa(i))}
	}
	require.NoError(t, s.client.ProduceSync(t.Context(), records...).FirstErr())
}

func (s *wmStage) watermark(tb testing.TB, cfg pgwatermark.Config) *pgwatermark.Inbox {
	tb.Helper()
	if cfg.BusyDelay == 0 {
		cfg.BusyDelay = 5 * time.Millisecond
	}
	w, err := pgwatermark.New(s.db.Pool, "c", []string{s.topic}, cfg)
	require.NoError(tb, err)
	return w
}

// placeOf is a handler that writes where the message was read.
func placeOf(p driver.Position) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return exec(ctx, `INSERT INTO effects VALUES ($1)`, strconv.Itoa(int(p.Partition))+"/"+strconv.FormatInt(p.Offset, 10))
	}
}

// requireNothingCommitted wants that the broker knows of no offset of the group.
func (s *wmStage) requireNothingCommitted(t *testing.T) {
	t.Helper()
	offsets, err := s.admin.FetchOffsets(t.Context(), s.group)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return
	}
	require.NoError(t, err)
	require.Empty(t, offsets.Offsets())
}

// TestI8_RebalanceWithAHandlerInFlight: a second member gets a partition while the
// first one still handles a message of it. The message is Busy, then a duplicate,
// and the partition goes on behind it.
func TestI8_RebalanceWithAHandlerInFlight(t *testing.T) {
	t.Parallel()
	const partitions, messages = 2, 40
	s := newWMStage(t, partitions)
	watchMoves(t, s.db)
	s.produce(t, messages, partitions)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	committed, holds, moved := make(chan struct{}, messages), make(chan struct{}, messages), make(chan struct{})
	var members sync.WaitGroup
	var once sync.Once
	join := func(during func(ctx context.Context) error) {
		w := s.watermark(t, pgwatermark.Config{})
		m, err := newMember(s.broker.Brokers, s.group, s.topic, w, func(ctx context.Context, p driver.Position) (inbox.Outcome, error) {
			outcome, err := processAt(ctx, w, p, func(ctx context.Context) error {
				return errors.Join(during(ctx), placeOf(p)(ctx))
			})
			if outcome == inbox.OutcomeCommitted {
				committed <- struct{}{}
			}
			if outcome == inbox.OutcomeBusy {
				once.Do(func() { close(moved) })
			}
			return outcome, err
		})
		require.NoError(t, err)
		members.Go(func() {
			defer m.close()
			if err := m.run(ctx); err != nil {
				t.Errorf("member: %v", err)
			}
		})
	}

	// The first one holds the first message of each partition, until one of the two
	// is Busy for the second member.
	join(func(ctx context.Context) error {
		holds <- struct{}{}
		return await(ctx, moved)
	})
	for range partitions {
		require.NoError(t, await(ctx, holds))
	}
	join(func(context.Context) error { return nil })
	for range messages {
		require.NoError(t, await(ctx, committed), "messages are missing")
	}
	cancel()
	members.Wait()
	all, distinct := countEffects(t, s.db)
	require.Equal(t, []int{messages, messages}, []int{all, distinct})
	s.requireNothingCommitted(t)
}

// await waits for c.
func await(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// assignmentList is all partitions of the topic.
func assignmentList(t *testing.T, s *wmStage) (all []driver.Assignment) {
	t.Helper()
	of, err := assignments(t.Context(), s.admin, s.topic)
	require.NoError(t, err)
	for _, a := range of {
		all = append(all, a)
	}
	return all
}

// refusals is an outbox.AlarmHook.
type refusals chan alarm

func (r refusals) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) { r <- alarmOf(e) }

// TestI8_TopicCreatedAgainOnKafka deletes a topic and creates it again.
func TestI8_TopicCreatedAgainOnKafka(t *testing.T) {
	t.Parallel()
	s := newWMStage(t, 1)
	before := s.consumeThree(t)
	s.recreate(t, before.Source)
	s.produce(t, 5, 1)
	after := assignmentList(t, s)[0]
	require.NotEqual(t, before.Source, after.Source)

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	refused, committed := make(refusals, 100), make(chan struct{}, 5)
	w := s.watermark(t, pgwatermark.Config{Config: inbox.Config{Hooks: []outbox.Hook{refused}}})
	m, err := newMember(s.broker.Brokers, s.group, s.topic, w, func(ctx context.Context, p driver.Position) (inbox.Outcome, error) {
		outcome, err := processAt(ctx, w, p, placeOf(p))
		if outcome == inbox.OutcomeCommitted {
			committed <- struct{}{}
		}
		return outcome, err
	})
	require.NoError(t, err)
	defer m.close()
	done := make(chan error, 1)
	go func() {
		err := driver.ErrSourceChanged
		for errors.Is(err, driver.ErrSourceChanged) { // the group is joined anew each time
			err = m.run(ctx)
		}
		done <- err
	}()
	select {
	case got := <-refused:
		require.Equal(t, alarm{
			Kind: pgwatermark.AlarmNewSource, Consumer: "c", Topic: s.topic, Source: after.Source, Known: before.Source, Refused: true,
		}, got)
	case <-ctx.Done():
		require.Fail(t, "no alarm")
	}
	all, _ := countEffects(t, s.db)
	require.Equal(t, 3, all, "nothing of the new topic is read before it is accepted")

	_, err = adminOf(t, s.db).AcceptSource(t.Context(), admin.AcceptSourceRequest{
		By: someone, Consumer: w.Consumer(), Topic: s.topic, Source: after.Source,
	})
	require.NoError(t, err)
	for range 5 {
		require.NoError(t, await(ctx, committed), "the new topic is not read")
	}
	cancel()
	require.NoError(t, <-done)
}

// consumeThree produces three messages and processes them.
func (s *wmStage) consumeThree(t *testing.T) driver.Assignment {
	t.Helper()
	w := s.watermark(t, pgwatermark.Config{})
	s.produce(t, 3, 1)
	a := assignmentList(t, s)[0]
	require.Zero(t, assign(t, w, a))
	for offset := range int64(3) {
		p := driver.Position{Source: a.Source, Topic: s.topic, Offset: offset, Prev: offset - 1, Serial: true}
		_, err := processAt(t.Context(), w, p, placeOf(p))
		require.NoError(t, err)
	}
	return a
}

// TestI8_MessagesDroppedByKafka has the broker drop what nobody has processed.
func TestI8_MessagesDroppedByKafka(t *testing.T) {
	t.Parallel()
	s := newWMStage(t, 1)
	before := s.consumeThree(t)
	s.produce(t, 6, 1)
	var until kadm.Offsets
	until.Add(kadm.Offset{Topic: s.topic, At: 7})
	_, err := s.admin.DeleteRecords(t.Context(), until)
	require.NoError(t, err)

	heard := &alarms{}
	require.Equal(t, int64(7), assign(t, s.watermark(t, heard.config()), assignmentList(t, s)[0]))
	require.Equal(t, []alarm{{
		Kind: pgwatermark.AlarmMissing, Consumer: "c", Topic: s.topic, Source: before.Source, Next: 3, Start: 7, End: 9,
	}}, heard.take())
}

// recreate deletes the topic and creates it again under another id than source.
func (s *wmStage) recreate(t *testing.T, source string) {
	t.Helper()
	_, err := s.admin.DeleteTopic(t.Context(), s.topic)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := s.admin.CreateTopic(ctx, 1, 1, nil, s.topic); err == nil || errors.Is(err, kerr.TopicAlreadyExists) {
			of, err := assignments(ctx, s.admin, s.topic)
			if err == nil && len(of) == 1 && of[0].Source != source {
				break
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.Fail(t, "the topic is not created again")
		}
	}
	s.client.PurgeTopicsFromClient(s.topic) // which knows the old one
}
