package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// relayVariable has what a process is to relay, as JSON.
const relayVariable = "SHARDS_RELAY"

type relayed struct {
	URLs, Brokers []string
	Topic         string
}

//leat:level 4
func TestMain(m *testing.M) {
	if text := os.Getenv(relayVariable); text != "" {
		if err := relayUntilKilled(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testenv.Main(m)
}

// relayUntilKilled relays all shards. It ends with the test, which has the other end of its input.
func relayUntilKilled(text string) error {
	var r relayed
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	var pools []*pgxpool.Pool
	for _, url := range r.URLs {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		pools = append(pools, pool)
	}
	s, err := openShop(ctx, r.Topic, pools...)
	if err != nil {
		return err
	}
	return s.relay(ctx, r.Brokers, relay.Config{
		Lease: 3 * time.Second, PublishTimeout: time.Second, LeaseMargin: time.Second / 2, Logger: slog.New(slog.DiscardHandler),
	})
}

const (
	producers, orders = 4, 150 // of each
	customers         = 9
	kills             = 10
	consumer          = "stats"
	patience          = 4 * time.Minute // on a busy machine
)

// drill is a run of the test.
type drill struct {
	t    *testing.T
	dir  string
	log  *history.Writer
	shop *shop
	told relayed

	ctx context.Context //nolint:containedctx // ends with the run, or when it takes too long

	mu      sync.Mutex
	placed  int
	moved   chan struct{} // closed when a customer has moved
	records []history.Line
	ids     map[string]bool
	more    chan struct{} // closed when more has arrived
}

func (r *drill) write(lines ...history.Line) {
	for _, line := range lines {
		if err := r.log.Write(line); err != nil {
			r.t.Error(err)
		}
	}
}

// Three databases, relayed by processes that are killed, while customers move from one to another: nothing is
// lost, doubled or out of order.
func TestShards_Kills(t *testing.T) {
	t.Parallel()
	kafka := testenv.Kafka(t)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	r := &drill{t: t, ctx: ctx, dir: t.TempDir(), ids: map[string]bool{}, more: make(chan struct{}), moved: make(chan struct{})}
	r.told = relayed{Brokers: kafka.Brokers, Topic: kafka.Topic(t, "orders", 3)}
	var pools []*pgxpool.Pool
	for range 3 {
		db := testenv.Postgres(t)
		pools, r.told.URLs = append(pools, db.Pool), append(r.told.URLs, db.URL)
	}
	var err error
	r.shop, err = openShop(t.Context(), r.told.Topic, pools...)
	require.NoError(t, err)
	r.log, err = history.Append(filepath.Join(r.dir, "run.jsonl"), "shop")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.log.Close()) })
	books := testenv.Postgres(t).Pool

	var consuming, producing, moving sync.WaitGroup
	consuming.Go(func() { r.consume(ctx, books) })
	defer consuming.Wait()
	defer stop()
	for i := range producers {
		producing.Go(func() { r.produce(ctx, i) })
	}
	done := make(chan struct{})
	var moves int
	moving.Go(func() { moves = r.move(ctx, done) })
	killed := r.kill(func() {
		producing.Wait()
		close(done)
		moving.Wait()
		r.await(producers * orders)
	})
	stop()
	consuming.Wait()
	require.GreaterOrEqual(t, killed, kills)
	require.Positive(t, moves)
	t.Logf("%d orders, %d moves, %d kills, %d records", producers*orders, moves, killed, len(r.records))
	r.judge(pools, books)
}

// produce places orders, each until it is placed.
func (r *drill) produce(ctx context.Context, producer int) {
	for n := range orders {
		id, customer := fmt.Sprintf("%d-%d", producer, n), fmt.Sprintf("c%d", (producer+n*(producer+1))%customers)
		for {
			r.mu.Lock()
			moved := r.moved
			r.mu.Unlock()
			no, err := r.shop.place(ctx, customer, id)
			if errors.Is(err, errOnItsWay) {
				select {
				case <-moved:
				case <-ctx.Done():
				}
				continue
			}
			if err != nil {
				r.t.Error(err)
				return
			}
			r.write(history.Line{Type: history.Intent, ID: id, Key: customer, Version: no, Topic: r.told.Topic}, history.Line{Type: history.Committed, ID: id})
			break
		}
		r.mu.Lock()
		r.placed++
		ahead := r.placed - 100
		r.mu.Unlock()
		r.await(ahead) // of what is relayed, so that there is something under way all the time
	}
}

// move moves one customer after another to the next shard, and returns how many it has moved.
func (r *drill) move(ctx context.Context, done <-chan struct{}) (moves int) {
	at := map[string]int{}
	for {
		customer := fmt.Sprintf("c%d", moves%customers)
		if _, known := at[customer]; !known {
			at[customer] = r.shop.home(customer)
		}
		r.await(min((moves+1)*20, producers*orders/2)) // so that there are customers
		select {
		case <-done:
			return moves
		default:
		}
		to := (at[customer] + 1) % len(r.shop.shards)
		if err := r.shop.move(ctx, customer, at[customer], to); err != nil {
			r.t.Error(err)
			return moves
		}
		at[customer] = to
		moves++
		r.mu.Lock()
		close(r.moved)
		r.moved = make(chan struct{})
		r.mu.Unlock()
	}
}

// kill runs two processes that relay, and kills one after the other as records arrive, until all is over.
func (r *drill) kill(untilOver func()) (killed int) {
	text, err := json.Marshal(r.told)
	require.NoError(r.t, err)
	start := func() (end func()) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), relayVariable+"="+string(text))
		cmd.Stderr = os.Stderr
		life, err := cmd.StdinPipe()
		require.NoError(r.t, err)
		require.NoError(r.t, cmd.Start())
		return func() {
			require.NoError(r.t, cmd.Process.Kill())
			_ = cmd.Wait()
			_ = life.Close()
		}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		untilOver()
	}()
	running := []func(){start(), start()}
	for step := producers * orders / (kills + 2); ; killed++ {
		r.await((killed + 1) * step)
		if killed == kills {
			<-over
			break
		}
		now := time.Now().UnixMicro()
		running[0]()
		r.write(history.Line{Type: history.Fault, Point: "relay", Kind: "kill", At: now, Until: time.Now().UnixMicro()})
		running = append(running[1:], start())
	}
	for _, end := range running {
		end()
	}
	return killed
}

// await waits until so many orders have arrived.
func (r *drill) await(n int) {
	for {
		r.mu.Lock()
		arrived, more := len(r.ids), r.more
		r.mu.Unlock()
		if arrived >= n {
			return
		}
		select {
		case <-more:
		case <-r.ctx.Done():
			return
		}
	}
}

// consume processes each record, and some twice.
func (r *drill) consume(ctx context.Context, books *pgxpool.Pool) {
	in, err := pginbox.New(books, consumer, pginbox.Config{})
	if err == nil {
		err = in.Migrate(ctx)
	}
	if err == nil {
		_, err = books.Exec(ctx, `CREATE TABLE effects (no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL, customer text NOT NULL)`)
	}
	if err != nil {
		r.t.Error(err)
		return
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(r.told.Brokers...), kgo.ConsumeTopics(r.told.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		r.t.Error(err)
		return
	}
	defer client.Close()
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		for _, record := range fetches.Records() {
			for range 1 + record.Offset%7/6 {
				if err := r.handle(ctx, in, record); err != nil && ctx.Err() == nil {
					r.t.Error(err)
					return
				}
			}
			r.arrived(record)
		}
	}
}

func (r *drill) handle(ctx context.Context, in *pginbox.Inbox, record *kgo.Record) error {
	id := string(record.Value)
	msg := message.NewMessage(id, record.Value)
	msg.Metadata.Set(outbox.HeaderEventID, id)
	_, err := in.Process(ctx, msg, func(ctx context.Context) error {
		_, err := pginbox.Tx(ctx).Exec(ctx, `INSERT INTO effects (id, customer) VALUES ($1, $2)`, id, string(record.Key))
		return err
	})
	return err
}

func (r *drill) arrived(record *kgo.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := string(record.Value)
	r.ids[id] = true
	r.records = append(r.records, history.Line{
		Type: history.Record, ID: id, Key: string(record.Key), Topic: record.Topic, Partition: record.Partition, Offset: record.Offset, At: time.Now().UnixMicro(),
	})
	close(r.more)
	r.more = make(chan struct{})
}

// judge writes down what there is in the end, and has it judged.
func (r *drill) judge(shards []*pgxpool.Pool, books *pgxpool.Pool) {
	t := r.t
	dump, err := history.Dump(filepath.Join(r.dir, "end.jsonl"))
	require.NoError(t, err)
	rows := func(pool *pgxpool.Pool, query string, line func(scan func(into ...any) error) history.Line) {
		found, err := pool.Query(t.Context(), query)
		require.NoError(t, err)
		defer found.Close()
		for found.Next() {
			require.NoError(t, dump.Write(line(found.Scan)))
		}
		require.NoError(t, found.Err())
	}
	for _, pool := range shards {
		rows(pool, "SELECT id, customer, no FROM orders", func(scan func(into ...any) error) (l history.Line) {
			l.Type = history.Ledger
			require.NoError(t, scan(&l.ID, &l.Key, &l.Version))
			return l
		})
	}
	require.NoError(t, dump.End(history.Line{Type: history.DumpEnd, Of: history.Ledger}))
	for _, line := range r.records {
		require.NoError(t, dump.Write(line))
	}
	require.NoError(t, dump.End(history.Line{Type: history.DumpEnd, Of: history.Record}))
	require.NoError(t, dump.End(history.Line{Type: history.DumpEnd, Of: history.Waiting}))
	rows(books, "SELECT id, customer, no FROM effects", func(scan func(into ...any) error) history.Line {
		l := history.Line{Type: history.EffectRow, Consumer: consumer}
		require.NoError(t, scan(&l.ID, &l.Key, &l.Row))
		return l
	})
	require.NoError(t, dump.End(history.Line{Type: history.DumpEnd, Of: history.EffectRow, Topic: r.told.Topic, Consumer: consumer}))
	require.NoError(t, dump.Close())
	verdict, err := history.Check(t.Context(), r.dir, history.Options{})
	require.NoError(t, err)
	require.Equal(t, producers*orders, verdict.Figures.Committed)
	require.Equal(t, producers*orders, verdict.Figures.Effects)
	for _, check := range verdict.Checks {
		if check.Name == history.O10 { // a lease that runs out on a busy machine is not the fault of the list, and repeats as well
			continue
		}
		require.Zero(t, check.Violations, "%s: %+v", check.Name, check.First)
	}
}
