package rival

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// RiverConfig is the variable part of a sweep over river.
type RiverConfig struct {
	// Workers is the number of jobs that run at the same time.
	Workers int
	// Cooldown is the shortest time between two reads of jobs, at least 1 ms. Jobs are read when others
	// have finished.
	Cooldown time.Duration
	// Poll is the longest time between two reads of jobs, at least Cooldown.
	Poll time.Duration
}

// BestRiver returns the times of river's own benchmark, and the number of workers that a comment there
// calls the best. They were the fastest in BenchmarkRiverSweep, too.
func BestRiver() RiverConfig {
	return RiverConfig{Workers: 1000, Cooldown: 2 * time.Millisecond, Poll: 20 * time.Millisecond}
}

// River is a queue of jobs in Postgres, with a worker that sends the message of a job to Kafka. The job is
// done when Kafka has acknowledged the message. It is marked as completed soon after, together with
// others. Jobs of one key are worked at the same time, so their order is lost.
type River struct {
	pool    *pgxpool.Pool
	brokers []string
	cfg     RiverConfig
}

// NewRiver returns a River that is not connected yet.
func NewRiver(pool *pgxpool.Pool, brokers []string, cfg RiverConfig) *River {
	return &River{pool: pool, brokers: brokers, cfg: cfg}
}

// Fill creates river's tables, deletes existing jobs, and inserts a job for each message, a
// thousand a transaction, by river's fastest way.
func (r *River) Fill(ctx context.Context, messages []outbox.Message) error {
	driver := riverpgxv5.New(r.pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err == nil {
		_, err = r.pool.Exec(ctx, "TRUNCATE river_job")
	}
	if err != nil {
		return fmt.Errorf("rival: schema of river: %w", err)
	}
	client, err := river.NewClient(driver, &river.Config{})
	if err != nil {
		return fmt.Errorf("rival: river: %w", err)
	}
	for at := 0; at < len(messages); at += fillChunk {
		jobs := riverJobs(messages[at:min(at+fillChunk, len(messages))])
		err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
			_, err := client.InsertManyFastTx(ctx, tx, jobs)
			return err
		})
		if err != nil {
			return fmt.Errorf("rival: fill river: %w", err)
		}
	}
	if _, err := r.pool.Exec(ctx, "VACUUM ANALYZE river_job"); err != nil {
		return fmt.Errorf("rival: vacuum river: %w", err)
	}
	return nil
}

func riverJobs(messages []outbox.Message) []river.InsertManyParams {
	jobs := make([]river.InsertManyParams, len(messages))
	for i, m := range messages {
		jobs[i].Args = publishArgs{ID: m.ID, Topic: m.Topic, Key: m.Key, Payload: m.Payload}
	}
	return jobs
}

// Drain works count jobs, and returns how long that took, from connecting to Kafka to
// its last acknowledgement. Then it waits until river has marked them all as completed.
func (r *River) Drain(ctx context.Context, count int) (took time.Duration, err error) {
	began := time.Now()
	producer, err := newClient(r.brokers)
	if err != nil {
		return 0, err
	}
	defer producer.Close()
	worker := &publishWorker{producer: producer, want: int64(count), done: make(chan struct{})}
	client, err := r.client(worker)
	if err != nil {
		return 0, fmt.Errorf("rival: river: %w", err)
	}
	if err := client.Start(ctx); err != nil {
		return 0, fmt.Errorf("rival: start river: %w", err)
	}
	select {
	case <-worker.done:
		took = time.Since(began)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err := errors.Join(err, client.Stop(context.WithoutCancel(ctx))); err != nil {
		return 0, fmt.Errorf("rival: river: %w", err)
	}
	return took, r.completed(ctx, count)
}

func (r *River) client(worker *publishWorker) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, worker); err != nil {
		return nil, err
	}
	return river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: r.cfg.Workers}},
		Workers:           workers,
		FetchCooldown:     r.cfg.Cooldown,
		FetchPollInterval: r.cfg.Poll,
	})
}

// completed checks that all jobs are marked as completed.
func (r *River) completed(ctx context.Context, count int) error {
	var got int
	err := r.pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state = 'completed'").Scan(&got)
	if err == nil && got != count {
		err = fmt.Errorf("completed %d jobs, want %d", got, count)
	}
	if err != nil {
		return fmt.Errorf("rival: river: %w", err)
	}
	return nil
}

// publishArgs are the arguments of a job. River stores them as JSON, the payload in
// base64.
type publishArgs struct {
	ID      string `json:"id"`
	Topic   string `json:"topic"`
	Key     string `json:"key"`
	Payload []byte `json:"payload"`
}

// Kind names the job.
func (publishArgs) Kind() string { return "publish" }

// publishWorker closes done when want messages were published.
type publishWorker struct {
	river.WorkerDefaults[publishArgs]

	producer *kgo.Client
	want     int64
	seen     atomic.Int64
	done     chan struct{}
}

// Work publishes a message, and returns when Kafka has acknowledged it.
func (w *publishWorker) Work(ctx context.Context, job *river.Job[publishArgs]) error {
	record := kafkaRecord(job.Args.ID, job.Args.Topic, job.Args.Key, job.Args.Payload)
	if err := w.producer.ProduceSync(ctx, record).FirstErr(); err != nil {
		return err
	}
	if w.seen.Add(1) == w.want {
		close(w.done)
	}
	return nil
}
