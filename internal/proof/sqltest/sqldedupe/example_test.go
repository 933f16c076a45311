package sqldedupe_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/sqldedupe"
	"github.com/leat-go/leat/outbox"
)

// Of two claims of a message, one gets it; the other one is told that it is done.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sqldedupe-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()

	store, err := sqldedupe.New(db, outbox.SQLite, sqldedupe.Config{})
	if err != nil {
		panic(err)
	}
	if err := store.Migrate(ctx); err != nil {
		panic(err)
	}
	key := dedupe.Key{Consumer: "mails", ID: "m-1"}
	claim, err := store.Claim(ctx, key, dedupe.Request{Token: "first", Lease: time.Minute})
	fmt.Println(claim.Status, err)
	completion, err := store.Complete(ctx, key, "first", nil)
	fmt.Println(completion, err)
	claim, err = store.Claim(ctx, key, dedupe.Request{Token: "second", Lease: time.Minute})
	fmt.Println(claim.Status, err)
	// Output:
	// claimed <nil>
	// completed <nil>
	// done <nil>
}
