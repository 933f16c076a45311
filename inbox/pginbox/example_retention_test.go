package pginbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
)

// An inbox that remembers two weeks. A message that comes again after that is not
// run and not acknowledged: it may have taken effect, or may not.
func ExampleMaintenance() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
		if err != nil {
			return err
		}
		m, err := pginbox.NewMaintenance(pool, pginbox.Config{}, pginbox.MaintenanceConfig{Retention: 14 * 24 * time.Hour})
		if err != nil {
			return err
		}
		if err := m.Enable(ctx); err != nil { // once, after Migrate
			return err
		}
		report, err := m.RunOnce(ctx) // or Run, beside the consumers
		if err != nil {
			return err
		}
		fmt.Println(len(report.Added), "ranges are ready")

		handle := in.Handle(func(context.Context, *message.Message) error { return nil })
		err = handle(message.NewMessage("018bcfe5-6800-7000-8000-000000000001", nil)) // made in 2023
		fmt.Println("too old:", errors.Is(err, driver.ErrTooOld))
		return nil
	})
	fmt.Println(err)
	// Output:
	// 4 ranges are ready
	// too old: true
	// <nil>
}

// The inbox has to remember what the topic keeps and what the outbox can replay.
func ExampleRetentionNeeds_Check() {
	needs := pginbox.RetentionNeeds{
		Topic:  7 * 24 * time.Hour, // retention.ms
		Replay: 5 * 24 * time.Hour, // Retention of the outbox's maintenance
	}
	err := needs.Check(5 * 24 * time.Hour)
	fmt.Println(err)
	// Output: leat: the inbox remembers less than what can be delivered again: Retention = 120h0m0s is below Topic = 168h0m0s by 48h0m0s
}

func ExampleMaintenanceConfig_StorageEstimate() {
	bytes := pginbox.MaintenanceConfig{Retention: 14 * 24 * time.Hour}.StorageEstimate(100)
	fmt.Printf("%.1f GB\n", float64(bytes)/1e9)
	// Output: 14.5 GB
}

// A consumer that has kept processed ids in a table of its own moves to the inbox while
// it runs.
func ExampleInbox_MarkProcessedFrom_table() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		if _, err := pool.Exec(ctx, `CREATE TABLE processed AS SELECT 'order-' || n AS id FROM generate_series(1, 1500) n`); err != nil {
			return err
		}
		in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
		if err != nil {
			return err
		}
		rows, err := pool.Query(ctx, `SELECT id FROM processed`)
		if err != nil {
			return err
		}
		defer rows.Close()
		report, err := in.MarkProcessedFrom(ctx, func(yield func(string, error) bool) {
			for rows.Next() {
				var id string
				if err := rows.Scan(&id); !yield(id, err) {
					return
				}
			}
			if err := rows.Err(); err != nil {
				yield("", err)
			}
		})
		fmt.Println(report.Marked, "marked")
		if err != nil {
			return err
		}
		outcome, err := in.Process(ctx, message.NewMessage("order-7", nil), func(context.Context) error { return nil })
		fmt.Println(outcome)
		return err
	})
	fmt.Println(err)
	// Output:
	// 1500 marked
	// duplicate
	// <nil>
}

// A consumer that has known nothing but its group's committed offsets. What it has
// processed is what lies before them: read the topic up to there and mark it, so that
// a later reset of the offsets does no harm. The old consumer must have been stopped
// cleanly; what it had in hand when it crashed lies behind its offsets, and runs.
func ExampleInbox_MarkProcessedFrom_offsets() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
		if err != nil {
			return err
		}
		committed := map[int]int64{0: 2, 1: 1} // by partition, from the admin client
		topic := []struct {                    // a reader without a group, from the start
			partition int
			offset    int64
			id        string
		}{{0, 0, "a"}, {1, 0, "b"}, {0, 1, "c"}, {0, 2, "d"}, {1, 1, "e"}}
		_, err = in.MarkProcessedFrom(ctx, func(yield func(string, error) bool) {
			for _, record := range topic {
				if record.offset < committed[record.partition] && !yield(record.id, nil) {
					return
				}
			}
		})
		if err != nil {
			return err
		}
		for id := range strings.SplitSeq("abcde", "") {
			outcome, err := in.Process(ctx, message.NewMessage(id, nil), func(context.Context) error { return nil })
			if err != nil {
				return err
			}
			fmt.Println(id, outcome)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// a duplicate
	// b duplicate
	// c duplicate
	// d committed
	// e committed
	// <nil>
}

// observer is a pginbox.ObserveHook.
type observer struct{}

func (observer) OnPginboxObserve(_ context.Context, e pginbox.ObserveEvent) {
	fmt.Printf("%s would have been a %s\n", e.ID, e.Would)
}

// What would an inbox suppress? Nothing is, until the consumer is built without Observe.
func ExampleConfig_observe() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		in, err := pginbox.New(pool, "loyalty", pginbox.Config{
			Config:  inbox.Config{Hooks: []outbox.Hook{observer{}}},
			Observe: true,
		})
		if err != nil {
			return err
		}
		for range 2 {
			outcome, err := in.Process(ctx, message.NewMessage("order-1 paid", nil), func(context.Context) error { return nil })
			if err != nil {
				return err
			}
			fmt.Println(outcome)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// committed
	// order-1 paid would have been a duplicate
	// committed
	// <nil>
}
