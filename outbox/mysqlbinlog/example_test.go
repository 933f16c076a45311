package mysqlbinlog_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/signal"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/mysqlbinlog"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// A relay that sends at once what services in other languages write into the outbox.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	const dsn = "leat:secret@tcp(127.0.0.1:1)/shop?interpolateParams=true"
	if err := serve(ctx, dsn); err != nil {
		fmt.Println("there is no server on this port")
	}
	// Output: there is no server on this port
}

func serve(ctx context.Context, dsn string) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return err
	}
	ob, err := sqloutbox.New(db, outbox.MariaDB, sqloutbox.Config{})
	if err != nil {
		return err
	}
	bell, err := mysqlbinlog.New(ob.Wake, mysqlbinlog.Config{DSN: dsn})
	if err != nil {
		return err
	}
	go bell.Run(ctx)

	source, err := ob.Source(sqloutbox.SourceConfig{})
	if err != nil {
		return err
	}
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		fmt.Println(r.Topic, r.ID)
		return nil
	}, relay.FuncConfig{})
	if err != nil {
		return err
	}
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		return err
	}
	return r.Run(ctx)
}
