package wmoutbox_test

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// unitOfWork is the key under which a service has always kept its transactions.
type unitOfWork struct{}

// A service that has a key of its own for transactions in contexts keeps it. With sqlx,
// TxFrom returns its (*sqlx.Tx).Tx.
func ExampleConfig_txFrom() {
	ctx := context.Background()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	publisher, err := wmoutbox.NewPublisher(ob, wmoutbox.Config{
		TxFrom: func(ctx context.Context) (any, bool) {
			tx, ok := ctx.Value(unitOfWork{}).(*memoutbox.Tx)
			return tx, ok
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	tx, err := ob.Begin(ctx) // as the service does itself
	if err != nil {
		fmt.Println(err)
		return
	}
	err = placeOrder(context.WithValue(ctx, unitOfWork{}, tx), publisher, "order 17")
	fmt.Println(err, len(ob.Committed()), "committed")
	err = tx.Commit(ctx)
	fmt.Println(err, len(ob.Committed()), "committed")
	// Output:
	// <nil> 0 committed
	// <nil> 1 committed
}
