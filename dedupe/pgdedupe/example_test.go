package pgdedupe_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// A mail that is asked for twice is sent once.
func Example() {
	err := testenv.OnDatabase("", func(ctx context.Context, pool *pgxpool.Pool) error {
		store, err := pgdedupe.New(pool, pgdedupe.Config{})
		if err != nil {
			return err
		}
		if err := store.Migrate(ctx); err != nil {
			return err
		}
		mailer, err := dedupe.New(store, "mailer", dedupe.Config{})
		if err != nil {
			return err
		}
		for range 2 {
			result, err := mailer.Do(ctx, dedupe.Message{ID: "order-1"}, func(context.Context) ([]byte, error) {
				fmt.Println("mail sent")
				return nil, nil
			})
			fmt.Println(result.Outcome, err)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// mail sent
	// ran <nil>
	// duplicate <nil>
	// <nil>
}
