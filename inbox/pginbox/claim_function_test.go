package pginbox_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/testenv"
)

// functionSubject claims as services in other languages do.
type functionSubject struct{ *subject }

// Open implements inboxtest.Subject.
func (s functionSubject) Open(consumer string, cfg inbox.Config) (inbox.Runner, error) {
	return inbox.New(functionStore{s.pool, s.schema, consumer}, consumer, cfg)
}

type functionStore struct {
	pool             *pgxpool.Pool
	schema, consumer string
}

var _ driver.Store = functionStore{}

// Claim implements driver.Store.
func (s functionStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	if _, err := s.pool.Exec(ctx, `SELECT `+s.schema+`.inbox_register($1)`, s.consumer); err != nil {
		return nil, 0, err
	}
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return nil, 0, err
	}
	var word string
	err = tx.QueryRow(ctx, `SELECT `+s.schema+`.inbox_claim($1, $2)`, s.consumer, id).Scan(&word)
	if err == nil && word == "claimed" {
		return txUnit{tx}, driver.Claimed, nil
	}
	_ = tx.Rollback(context.WithoutCancel(ctx))
	return nil, map[string]driver.Status{"duplicate": driver.Duplicate, "busy": driver.Busy}[word], err
}

// TestFunction runs the suite of all inboxes with the claim in SQL, except for the ids that
// no text of PostgreSQL can be, and for where ids come from, which a function is not told.
//
//leat:level 2
func TestFunction(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	for _, check := range inboxtest.Checks(remembering()) {
		if check.Name == "I1_IDsAreKeptApart" || check.Name == "I1_MovedIDsBetweenSessions" {
			continue
		}
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, check.Run(t.Context(), functionSubject{newSubject(t, env, pginbox.Config{})}))
		})
	}
}

// TestFunction_HashesAsGo: locks and stored ids are those of the library, bit by bit.
func TestFunction_HashesAsGo(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	text := rapid.StringOfN(rapid.Rune().Filter(func(r rune) bool { return r != 0 }), 1, 100, 255)
	rapid.Check(t, func(rt *rapid.T) {
		consumer, id := text.Draw(rt, "consumer"), text.Draw(rt, "id")
		stored, _ := ids.Map(id)
		var gotID string
		var gotLock int64
		require.NoError(rt, env.Pool.QueryRow(context.Background(), `
			SELECT leat.inbox_stored_id($2)::text,
			       leat.inbox_lock('inbox', convert_to('"leat"."inbox"', 'UTF8'), convert_to($1, 'UTF8'), uuid_send(leat.inbox_stored_id($2)))`,
			consumer, id).Scan(&gotID, &gotLock))
		require.Equal(rt, ids.Text(stored), gotID)
		require.Equal(rt, keyhash.Lock("inbox", `"leat"."inbox"`, consumer, string(stored[:])), gotLock)
	})
}

// claimIn returns what the function says in tx.
func claimIn(t *testing.T, tx pgx.Tx, id string) string {
	t.Helper()
	var word string
	require.NoError(t, tx.QueryRow(t.Context(), `SELECT leat.inbox_claim('c', $1)`, id).Scan(&word))
	return word
}

// TestFunction_BesideGo: consumers of both kinds under one name exclude one another, at
// every isolation level, wherever the id is remembered.
//
//leat:level 2
func TestFunction_BesideGo(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]*testenv.Database{
		"plain": testenv.Postgres(t, template), "ranges": forgetting(t, pginbox.MaintenanceConfig{}),
		"delete": forgetting(t, pginbox.MaintenanceConfig{NoDDL: true}),
	} {
		in, err := pginbox.New(env.Pool, "c", pginbox.Config{})
		require.NoError(t, err)
		if name != "plain" {
			remember(t, env, 30*day, name == "delete") // which makes the ranges
		}
		_, err = process(t, in, "first", nothing)
		require.NoError(t, err)
		for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
			for _, id := range []string{"a text " + string(level), uuid.NewString(), madeAgo(time.Minute)} {
				tx, err := env.Connect(t).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
				require.NoError(t, err)
				require.Equal(t, "claimed", claimIn(t, tx, id), name)
				require.Equal(t, "duplicate", claimIn(t, tx, id), "%s: again in the same transaction", name)
				outcome, err := process(t, in, id, nothing)
				require.ErrorIs(t, err, inbox.ErrBusy, name)
				require.Equal(t, inbox.OutcomeBusy, outcome)
				require.NoError(t, tx.Commit(t.Context()))
				outcome, err = process(t, in, id, nothing)
				require.NoError(t, err)
				require.Equal(t, inbox.OutcomeDuplicate, outcome, name)

				other := id[:len(id)-2] + "ff"
				_, err = process(t, in, other, func(context.Context) error {
					tx, err := env.Connect(t).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
					require.NoError(t, err)
					require.Equal(t, "busy", claimIn(t, tx, other), name)
					return tx.Rollback(t.Context())
				})
				require.NoError(t, err)
				tx, err = env.Connect(t).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
				require.NoError(t, err)
				require.Equal(t, "duplicate", claimIn(t, tx, other), name)
				require.NoError(t, tx.Rollback(t.Context()))
			}
		}
	}
}

// TestFunction_TooOld: what may have been forgotten is an error, what is remembered still is
// a duplicate.
func TestFunction_TooOld(t *testing.T) {
	t.Parallel()
	for mode, noDDL := range modes {
		env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: noDDL})
		in, err := pginbox.New(env.Pool, "c", pginbox.Config{})
		require.NoError(t, err)
		old, young := madeAgo(10*day), madeAgo(4*day)
		for _, id := range []string{old, young} {
			_, err = process(t, in, id, nothing)
			require.NoError(t, err)
		}
		remember(t, env, 5*day, noDDL)
		tx, err := env.Connect(t).Begin(t.Context())
		require.NoError(t, err)
		require.Equal(t, "duplicate", claimIn(t, tx, young), mode)
		_, err = tx.Exec(t.Context(), `SELECT leat.inbox_claim('c', $1)`, old)
		require.True(t, pgerr.Is(err, "55000"), "%s: %v", mode, err)
		require.ErrorContains(t, err, "older than what the inbox remembers")
		require.NoError(t, tx.Rollback(t.Context()))
	}
}

// TestFunction_Storm: claims of both kinds, whose transactions fail now and then, run each
// message once.
func TestFunction_Storm(t *testing.T) {
	t.Parallel()
	const messages, workers = 60, 6
	env := testenv.Postgres(t, template)
	in, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	_, err = process(t, in, "first", nothing)
	require.NoError(t, err)
	work := make(chan string, messages*workers)
	for n := range messages * workers {
		work <- "m" + strconv.Itoa(n%messages)
	}
	close(work)
	inSQL := func(id string, fail bool) error {
		return pgx.BeginFunc(t.Context(), env.Pool, func(tx pgx.Tx) error {
			var word string
			if err := tx.QueryRow(t.Context(), `SELECT leat.inbox_claim('c', $1)`, id).Scan(&word); err != nil || word != "claimed" {
				return err
			}
			if _, err := tx.Exec(t.Context(), `INSERT INTO effects VALUES ($1)`, id); err != nil || !fail {
				return err
			}
			return context.Canceled
		})
	}
	inGo := func(id string, fail bool) error {
		_, err := process(t, in, id, func(ctx context.Context) error {
			if err := write(id)(ctx); err != nil || !fail {
				return err
			}
			return context.Canceled
		})
		return err
	}
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			n := 0
			for id := range work {
				n++
				_ = map[bool]func(string, bool) error{true: inGo, false: inSQL}[(n+w)%2 == 0](id, n%5 == 0)
			}
		})
	}
	running.Wait()
	for n := range messages {
		id := "m" + strconv.Itoa(n)
		require.NoError(t, inSQL(id, false), "what failed to the last")
		require.Equal(t, 1, effects(t, env, id), id)
	}
}

// TestFunction_Misuse: nothing is remembered under a name or for an id that is none.
func TestFunction_Misuse(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	call := func(statement string) error {
		_, err := env.Pool.Exec(t.Context(), statement)
		return err
	}
	require.NoError(t, call(`SELECT leat.inbox_register('c'), leat.inbox_register('c')`))
	for statement, code := range map[string]string{
		`SELECT leat.inbox_claim('misspelt', 'id')`:                              "42704",
		`SELECT leat.inbox_claim(NULL, 'id')`:                                    "42704",
		`SELECT leat.inbox_claim('c', '')`:                                       "22023",
		`SELECT leat.inbox_claim('c', NULL)`:                                     "22023",
		`SELECT leat.inbox_claim('c', repeat('x', 65537))`:                       "22023",
		`SELECT leat.inbox_register('')`:                                         "22023",
		`SELECT leat.inbox_register(NULL)`:                                       "22023",
		`SET LOCAL synchronous_commit = off; SELECT leat.inbox_claim('c', 'id')`: "55000",
	} {
		err := call(statement)
		require.True(t, pgerr.Is(err, code), "%s: %v", statement, err)
	}
	var consumers int
	require.NoError(t, env.Pool.QueryRow(t.Context(), `SELECT count(*) FROM leat.inbox_consumers`).Scan(&consumers))
	require.Equal(t, 1, consumers)
}

// TestFunction_NeedsExecuteOnly: a role without any right to a table claims.
func TestFunction_NeedsExecuteOnly(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	functions := []string{"leat.inbox_register(text)", "leat.inbox_claim(text, text)"}
	pool := roleWith(t, env, nil, "")
	var role string
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT current_user`).Scan(&role))
	use := func() error {
		_, err := pool.Exec(t.Context(), `SELECT leat.inbox_register('c')`)
		if err == nil {
			_, err = pool.Exec(t.Context(), `SELECT leat.inbox_claim('c', $1)`, uuid.NewString())
		}
		return err
	}
	require.True(t, pgerr.Is(use(), pgerr.InsufficientPrivilege))
	for _, f := range functions {
		_, err := env.Pool.Exec(t.Context(), fmt.Sprintf(`GRANT EXECUTE ON FUNCTION %s TO %q`, f, role))
		require.NoError(t, err)
	}
	require.NoError(t, use())
	_, err := pool.Exec(t.Context(), `SELECT * FROM leat.inbox`)
	require.True(t, pgerr.Is(err, pgerr.InsufficientPrivilege))
}

// TestS13_NumbersOfConsumersComeBack: a role that has EXECUTE alone cannot use up the numbers
// of consumers by transactions that it rolls back, in which case nobody could be registered.
func TestS13_NumbersOfConsumersComeBack(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	_, err := env.Pool.Exec(t.Context(), `ALTER TABLE leat.inbox_consumers ALTER id RESTART 32700; DO $$ BEGIN
		FOR i IN 1 .. 100 LOOP
			BEGIN
				PERFORM leat.inbox_register('c' || i);
				RAISE EXCEPTION 'no' USING ERRCODE = 'ZZ000';
			EXCEPTION WHEN SQLSTATE 'ZZ000' THEN NULL;
			END;
		END LOOP;
	END $$`)
	require.NoError(t, err)
	in, err := pginbox.New(env.Pool, "payments", pginbox.Config{})
	require.NoError(t, err)
	_, err = process(t, in, "a", nothing)
	require.NoError(t, err)
	var number int
	require.NoError(t, env.Pool.QueryRow(t.Context(), `SELECT leat.inbox_register('invoices')`).Scan(&number))
	require.Equal(t, 2, number)
}

// TestRegister_AfterAnOlderRelease: numbers that releases before have drawn from the sequence,
// and lost, do not matter.
func TestRegister_AfterAnOlderRelease(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	_, err := env.Pool.Exec(t.Context(), `INSERT INTO leat.inbox_consumers (name) VALUES ('older');
		ALTER TABLE leat.inbox_consumers ALTER id RESTART 32767; INSERT INTO leat.inbox_consumers (name) VALUES ('last')`)
	require.NoError(t, err)
	in, err := pginbox.New(env.Pool, "payments", pginbox.Config{})
	require.NoError(t, err)
	_, err = process(t, in, "a", nothing)
	require.NoError(t, err)
	var number int
	require.NoError(t, env.Pool.QueryRow(t.Context(), `SELECT id FROM leat.inbox_consumers WHERE name = 'payments'`).Scan(&number))
	require.Equal(t, 2, number)
}
