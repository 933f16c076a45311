package pgoutbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestPasswordChanges: a password that changes while the service runs, as IAM tokens and rotated secrets
// do, reaches every connection: the pool's, and those of migrations, the relay, its listener, its tail and
// the notifier.
//
//leat:level 4
func TestPasswordChanges(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server of its own")
	server := logical(t)
	for name, open := range map[string]func(t *testing.T, url string, password func() string) *pgoutbox.Outbox{
		"pgx": func(t *testing.T, url string, password func() string) *pgoutbox.Outbox {
			t.Helper()
			cfg, err := pgxpool.ParseConfig(url)
			require.NoError(t, err)
			cfg.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
				c.Password = password()
				return nil
			}
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			ob, err := pgoutbox.New(pool, pgoutbox.Config{})
			require.NoError(t, err)
			return ob
		},
		"database/sql": func(t *testing.T, url string, password func() string) *pgoutbox.Outbox {
			t.Helper()
			cfg, err := pgx.ParseConfig(url)
			require.NoError(t, err)
			db := stdlib.OpenDB(*cfg, stdlib.OptionBeforeConnect(func(_ context.Context, c *pgx.ConnConfig) error {
				c.Password = password()
				return nil
			}))
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			db.SetMaxOpenConns(3)
			return onSQL(t, db)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := server.Database(t)
			role := "shop " + name
			change := server.SignIn(t, db, role)
			cfg, err := pgx.ParseConfig(db.URL)
			require.NoError(t, err)
			var password atomic.Pointer[string]
			turn := func(to string) {
				password.Store(&to)
				change(to)
			}
			turn("first")
			url := fmt.Sprintf("host=127.0.0.1 port=%d dbname='%s' user='%s' sslmode=disable", cfg.Port, db.Name, role)
			ob := open(t, url, func() string { return *password.Load() })
			require.NoError(t, ob.Migrate(t.Context()))
			exec(t, db, publish)

			runNotifier(t, ob)
			src := sourceOf(t, ob, pgoutbox.SourceConfig{Tail: &pgoutbox.TailConfig{Publication: "leat"}, Start: driver.Start{Oldest: true}})
			broker := outboxtest.NewBroker()
			r, err := relay.New(src, broker.Sink(), relay.Config{})
			require.NoError(t, err)
			run := runRelay(t, r)
			for i, next := range []string{"second", "third", ""} {
				await(t, "a producer with a new connection", func() bool { return commitOne(t, ob, strconv.Itoa(i)) == nil })
				await(t, "the record is sent", func() bool { return slices.Contains(payloads(broker.Log()), strconv.Itoa(i)) })
				for _, own := range []string{"leat relay default", "leat shared", "leat tail default", "leat notifier"} {
					await(t, own+" is connected", func() bool {
						_ = commitOne(t, ob, strconv.Itoa(i)) // the notifier connects at a commit
						return query1[bool](t, db, `SELECT EXISTS (SELECT FROM pg_stat_activity
							WHERE usename = $1 AND application_name = $2)`, role, own)
					})
				}
				if next != "" {
					turn(next)
				}
			}
			require.NoError(t, ob.Migrate(t.Context()))
			require.NoError(t, run.stop())
			_, err = pgx.Connect(t.Context(), url+" password=first")
			require.ErrorContains(t, err, "password authentication failed")
		})
	}
}

// commitOne commits a message.
func commitOne(t *testing.T, ob *pgoutbox.Outbox, id string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	msgs := keyed("k", id)
	if ob.IsSQL() {
		return ob.InSQLTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return ob.EnqueueSQL(ctx, tx, msgs...) })
	}
	return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, msgs...) })
}
