package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// A process that relays and maintains. Run as many replicas as you like: only one of them relays and only
// one maintains at a time.
func ExampleMaintenance_Run() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		source, err := ob.Source(pgoutbox.SourceConfig{})
		if err != nil {
			return err
		}
		r, err := relay.New(source, printSink{}, relay.Config{})
		if err != nil {
			return err
		}
		m, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{Retention: 3 * 24 * time.Hour})
		if err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(ctx, time.Second) // in a service: signal.NotifyContext
		defer stop()
		var wg sync.WaitGroup
		var errs [2]error
		for i, run := range []func(context.Context) error{r.Run, m.Run} {
			wg.Go(func() {
				defer stop() // one that cannot go on ends the process
				errs[i] = run(ctx)
			})
		}
		wg.Wait()
		return errors.Join(errs[:]...)
	})
	fmt.Println(err)
	// Output: <nil>
}

// Archive history before it is dropped. If the hook returns an error, the history is kept.
func ExampleMaintenanceConfig_archive() {
	archive := func(_ context.Context, part admin.Range, records iter.Seq2[outbox.Record, error]) error {
		n := 0
		for _, err := range records {
			if err != nil {
				return err
			}
			n++ // write it to an object store, under a name made of part
		}
		fmt.Printf("archived %d messages from %d on\n", n, part.From)
		return nil
	}
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		err := ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Payload: []byte("o-1")})
		})
		if err != nil {
			return err
		}
		if err := drain(ctx, ob); err != nil {
			return err
		}
		m, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{
			NoDDL: true, Retention: time.Nanosecond, Archive: archive,
		})
		if err != nil {
			return err
		}
		report, err := m.RunOnce(ctx)
		fmt.Println("deleted", report.Deleted)
		return err
	})
	fmt.Println(err)
	// Output:
	// sent orders o-1
	// archived 1 messages from 1 on
	// deleted 1
	// <nil>
}

// A reminder is enqueued with the order, to be sent later, and cancelled when the order is paid.
func ExampleOutbox_Admin_cancelDelayed() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		err := ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return ob.Enqueue(ctx, tx,
				outbox.Message{Topic: "orders", Key: "o-1", Payload: []byte("placed")},
				outbox.Message{ID: "remind o-1", Topic: "reminders", Key: "o-1", NotBefore: time.Now().Add(24 * time.Hour)})
		})
		if err != nil {
			return err
		}
		if err := drain(ctx, ob); err != nil {
			return err
		}
		delayed, err := ob.Admin().Delayed(ctx, admin.DelayedQuery{Topic: "reminders"})
		if err != nil {
			return err
		}
		fmt.Println("waiting:", delayed[0].ID)
		done, err := ob.Admin().CancelDelayed(ctx, admin.CancelRequest{By: admin.By{Actor: "billing", Reason: "paid"}, ID: "remind o-1"})
		fmt.Println("cancelled:", done.IDs)
		return err
	})
	fmt.Println(err)
	// Output:
	// sent orders placed
	// waiting: remind o-1
	// cancelled: [remind o-1]
	// <nil>
}
