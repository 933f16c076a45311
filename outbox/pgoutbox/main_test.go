package pgoutbox_test

import (
	"context"
	"errors"
	"log"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

//leat:level 1
func TestMain(m *testing.M) {
	for variable, run := range map[string]func() error{
		envRelayDatabase: relayProcess, envProducer: producerProcess, envMaintainer: maintainerProcess,
	} {
		if os.Getenv(variable) == "" {
			continue
		}
		if os.Getenv(envRelayExact) != "" {
			run = exactProcess
		}
		if err := run(); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	if err := errors.Join(testenv.SideBySide(), testenv.RapidChecks(25)); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

const testLease = 30 * time.Second

// migrated returns the template database that most tests start from.
func migrated() testenv.Template {
	return testenv.Template{Name: "pgoutbox", Version: schemaVersion(), Apply: migrate}
}

// schemaVersion returns a name that differs for different schemas.
func schemaVersion() string {
	return testenv.VersionOf(pgoutbox.Migrations(pgoutbox.Config{}))
}

func migrate(ctx context.Context, url string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	return ob.Migrate(ctx)
}

// newOutbox returns an outbox in a database of its own.
func newOutbox(tb testing.TB, cfg pgoutbox.Config) (*pgoutbox.Outbox, *testenv.Database) {
	tb.Helper()
	db := testenv.Postgres(tb, migrated())
	ob, err := pgoutbox.New(db.Pool, cfg)
	require.NoError(tb, err)
	return ob, db
}

// source returns a new source of group, which starts at the oldest message.
func source(tb testing.TB, ob *pgoutbox.Outbox, group string) *pgoutbox.Source {
	tb.Helper()
	return sourceOf(tb, ob, pgoutbox.SourceConfig{Group: group, Start: driver.Start{Oldest: true}})
}

func sourceOf(tb testing.TB, ob *pgoutbox.Outbox, cfg pgoutbox.SourceConfig) *pgoutbox.Source {
	tb.Helper()
	src, err := ob.Source(cfg)
	require.NoError(tb, err)
	return src.(*pgoutbox.Source) //nolint:forcetypeassert // it is
}

// acquire starts a session of group, which is released when the test ends.
func acquire(tb testing.TB, ob *pgoutbox.Outbox, group string) driver.Session {
	tb.Helper()
	return acquireFrom(tb, source(tb, ob, group))
}

// acquireFrom starts a session of src, which is released when the test ends.
func acquireFrom(tb testing.TB, src driver.Source) driver.Session {
	tb.Helper()
	s, err := src.Acquire(tb.Context(), testLease)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Release(context.Background()) }) // a second release does not concern the test
	return s
}

// readAll reads and settles pages of limit until nothing is left.
func readAll(tb testing.TB, s driver.Session, limit int) []outbox.Record {
	tb.Helper()
	var all []outbox.Record
	for {
		page, err := s.Read(tb.Context(), limit)
		require.NoError(tb, err)
		require.False(tb, page.Waiting)
		if len(page.Records) == 0 {
			return all
		}
		all = append(all, page.Records...)
		require.NoError(tb, s.Advance(tb.Context(), page, len(page.Records)))
	}
}

// payloads returns the payloads of records as text.
func payloads(records []outbox.Record) []string {
	var all []string
	for i := range records {
		all = append(all, string(records[i].Payload))
	}
	return all
}
