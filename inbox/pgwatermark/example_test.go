package pgwatermark_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/outbox"
)

// A subscriber asks where to read on, delivers three messages and is assigned the
// partition again. Position and Assignment come from the subscriber; here they are
// written out.
func ExampleNew() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		in, err := pgwatermark.New(pool, "loyalty", []string{"orders"}, pgwatermark.Config{})
		if err != nil {
			return err
		}
		handle := in.Handle(func(ctx context.Context, msg *message.Message) error {
			tx := pginbox.Tx(ctx)
			_, err := tx.Exec(ctx, `INSERT INTO points VALUES ($1, 10)`, string(msg.Payload))
			return err
		})
		const source = "6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90" // the topic's id
		partition := []driver.Assignment{{Source: source, Topic: "orders", Start: 0, End: 3}}
		next, err := in.Assigned(ctx, partition)
		fmt.Println("read on at", next, err)

		for _, offset := range []int64{0, 1, 1, 2} { // 1 is delivered again
			msg := message.NewMessage("", []byte("alice"))
			msg.SetContext(driver.WithPosition(ctx, driver.Position{
				Source: source, Topic: "orders", Offset: offset, Prev: offset - 1, Serial: true,
			}))
			fmt.Println(offset, handle(msg))
		}
		next, err = in.Assigned(ctx, partition)
		fmt.Println("read on at", next, err)

		var points int
		err = pool.QueryRow(ctx, `SELECT sum(points) FROM points`).Scan(&points)
		fmt.Println(points, "points")
		return err
	})
	fmt.Println(err)
	// Output:
	// read on at [0] <nil>
	// 0 <nil>
	// 1 <nil>
	// 1 <nil>
	// 2 <nil>
	// read on at [3] <nil>
	// 30 points
	// <nil>
}

// printed is an outbox.AlarmHook.
type printed struct{}

func (printed) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	fmt.Println("alarm:", e.Kind, e.Topic)
}

// A topic that was created again is refused until somebody has accepted it.
func ExampleNewAdmin() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		in, err := pgwatermark.New(pool, "loyalty", []string{"orders"}, pgwatermark.Config{
			Config: inbox.Config{Hooks: []outbox.Hook{printed{}}},
		})
		if err != nil {
			return err
		}
		before := driver.Assignment{Source: "6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90", Topic: "orders", End: 9, From: 7}
		after := driver.Assignment{Source: "0d9c1b7e-52a4-4f0b-8f5e-3b1a6c2d4e5f", Topic: "orders", End: 2}
		if _, err := in.Assigned(ctx, []driver.Assignment{before}); err != nil {
			return err
		}
		_, err = in.Assigned(ctx, []driver.Assignment{after})
		fmt.Println(err)

		operator, err := pgwatermark.NewAdmin(pool, pgwatermark.Config{})
		if err != nil {
			return err
		}
		was, err := operator.AcceptSource(ctx, admin.AcceptSourceRequest{
			By:       admin.By{Actor: "ann", Reason: "topic was created again with more partitions"},
			Consumer: "loyalty", Topic: "orders", Source: after.Source,
		})
		if err != nil {
			return err
		}
		fmt.Println("was", was)
		next, err := in.Assigned(ctx, []driver.Assignment{after})
		fmt.Println("read on at", next)
		return err
	})
	fmt.Println(err)
	// Output:
	// alarm: new_source orders
	// leat: consumer loyalty: assign: leat: the topic is not the one that is remembered: topic "orders" was "6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90" and is "0d9c1b7e-52a4-4f0b-8f5e-3b1a6c2d4e5f": find out whether it was made again, or is that of another cluster, then leat inbox watermarks accept
	// was 6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90
	// read on at [0]
	// <nil>
}
