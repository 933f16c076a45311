package pgoutbox_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// A tail finds the commits of producers that wake no relay. It needs one slot, which the constructor
// checks; the relay checks what it needs of the server when it runs.
func ExampleTailConfig() {
	pool, err := pgxpool.New(context.Background(), "postgres://relay@localhost/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = ob.Source(pgoutbox.SourceConfig{Slots: 4, Tail: &pgoutbox.TailConfig{Publication: "leat"}})
	fmt.Println(err)
	_, err = ob.Source(pgoutbox.SourceConfig{Tail: &pgoutbox.TailConfig{Publication: "leat"}})
	fmt.Println(err)
	// Output:
	// leat: invalid configuration: Slots = 4: must be 1 with a Tail
	// <nil>
}
