package bench_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// envRelay makes a process relay. Its value is the dialect and the address of a database.
const envRelay = "LEAT_BENCH_RELAY"

// box is an outbox with what the measurement needs of it.
type box struct {
	close  func()
	source func() (driver.Source, error)
	put    func(ctx context.Context, m outbox.Message) error
	// written returns how many transactions the database has had, and how much it has written of
	// its log; nil if it does not tell.
	written func(ctx context.Context) (transactions, bytes int64, err error)
}

// idle returns the transactions and the bytes of the database's log per second.
func (o box) idle(b *testing.B) (transactions, bytes float64) {
	b.Helper()
	if o.written == nil {
		return 0, 0
	}
	const seconds = 10
	<-time.After(settled)
	before, bytesBefore, err := o.written(b.Context())
	require.NoError(b, err)
	<-time.After(seconds * time.Second)
	after, bytesAfter, err := o.written(b.Context())
	require.NoError(b, err)
	return float64(after-before) / seconds, float64(bytesAfter-bytesBefore) / seconds
}

// openBox opens the outbox in the database at address.
func openBox(ctx context.Context, dialect, address string) (box, error) {
	if dialect == "postgres" {
		return openPostgres(ctx, address)
	}
	name, of := "mysql", outbox.Dialect(dialect)
	if of == outbox.SQLite {
		name = "sqlite"
	}
	db, err := sql.Open(name, address)
	if err != nil {
		return box{}, err
	}
	shut := func() { _ = db.Close() } // nothing is lost by it
	ob, err := sqloutbox.New(db, of, sqloutbox.Config{})
	if err == nil {
		err = ob.Migrate(ctx)
	}
	return box{
		close:  shut,
		source: func() (driver.Source, error) { return ob.Source(sqloutbox.SourceConfig{}) },
		put: func(ctx context.Context, m outbox.Message) error {
			return ob.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return ob.Enqueue(ctx, tx, m) })
		},
	}, err
}

func openPostgres(ctx context.Context, address string) (box, error) {
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return box{}, err
	}
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err == nil {
		err = ob.Migrate(ctx)
	}
	return box{
		close:  pool.Close,
		source: func() (driver.Source, error) { return ob.Source(pgoutbox.SourceConfig{}) },
		put: func(ctx context.Context, m outbox.Message) error {
			return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, m) })
		},
		written: func(ctx context.Context) (transactions, bytes int64, err error) {
			err = pool.QueryRow(ctx, `SELECT xact_commit, pg_current_wal_insert_lsn() - '0/0' FROM pg_stat_database WHERE datname = current_database()`).
				Scan(&transactions, &bytes)
			return transactions, bytes, err
		},
	}, err
}

// relayProcess relays with the defaults until it is killed, and prints what it sends.
func relayProcess(address string) {
	dialect, address, _ := strings.Cut(address, " ")
	ctx := context.Background()
	b, err := openBox(ctx, dialect, address)
	if err == nil {
		var src driver.Source
		if src, err = b.source(); err == nil {
			var r *relay.Relay
			var sink driver.Sink
			sink, err = relay.Func(func(_ context.Context, m outbox.Record) error {
				_, err := fmt.Println(string(m.Payload))
				return err
			}, relay.FuncConfig{})
			if err == nil {
				r, err = relay.New(src, sink, relay.Config{})
			}
			if err == nil {
				err = r.Run(ctx)
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// runner is a relay in a process of its own.
type runner struct{ cmd *osexec.Cmd }

// run starts a relay process. sent receives what it sends.
func run(b *testing.B, address string, sent chan<- sending) *runner {
	b.Helper()
	r := &runner{osexec.Command(os.Args[0])}
	r.cmd.Env = append(os.Environ(), envRelay+"="+address)
	r.cmd.Stderr = os.Stderr
	out, err := r.cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, r.cmd.Start())
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, _ := strconv.Atoi(lines.Text())
			sent <- sending{n, r, time.Now()}
		}
	}()
	b.Cleanup(r.kill)
	return r
}

func (r *runner) kill() {
	_ = r.cmd.Process.Kill() // it may be dead
	_, _ = r.cmd.Process.Wait()
}

type sending struct {
	n  int
	by *runner
	at time.Time
}

// BenchmarkTakeover measures how long messages wait after the leading relay was killed with kill -9, with
// all defaults: until the same relay, restarted at once, or a standby sends the first message that was
// committed after the kill.
func BenchmarkTakeover(b *testing.B) {
	for _, store := range []struct {
		name string
		open func(b *testing.B) string
	}{
		{"postgres", func(b *testing.B) string {
			b.Helper()
			return testenv.PrivatePostgres(b, testenv.PostgresOptions{}).URL()
		}},
		{"mysql", func(b *testing.B) string {
			b.Helper()
			return sqltest.NewMySQLDatabase(b, testenv.PrivateMySQL(b, nil).URL).FormatDSN()
		}},
		{"mariadb", func(b *testing.B) string {
			b.Helper()
			return sqltest.NewMySQLDatabase(b, testenv.PrivateMariaDB(b, nil).URL).FormatDSN()
		}},
		{"sqlite", func(b *testing.B) string {
			b.Helper()
			return "file:" + filepath.Join(b.TempDir(), "box.db") + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate"
		}},
	} {
		b.Run(store.name, func(b *testing.B) { takeovers(b, store.name, store.open(b)) })
	}
}

// reportStandby reports what a standby costs, compared with a leader alone.
func (o box) reportStandby(b *testing.B, alone, wal float64) {
	b.Helper()
	both, walOfBoth := o.idle(b)
	if o.written != nil {
		b.ReportMetric(both-alone, "standby-transactions/s")
		b.ReportMetric(walOfBoth-wal, "standby-walbytes/s")
	}
}

func takeovers(b *testing.B, dialect, address string) {
	b.Helper()
	ob, err := openBox(b.Context(), dialect, address)
	require.NoError(b, err)
	b.Cleanup(ob.close)
	sent := make(chan sending, 100_000)
	next := 0
	// first commits messages until one of them is sent.
	first := func() sending {
		least := next
		for {
			require.NoError(b, ob.put(b.Context(), outbox.Message{Topic: "t", Key: "k", Payload: []byte(strconv.Itoa(next))}))
			next++
			for deadline := time.After(10 * time.Millisecond); ; {
				select {
				case s := <-sent:
					if s.n >= least {
						return s
					}
					continue
				case <-deadline:
				}
				break
			}
		}
	}
	where := dialect + " " + address
	leader := run(b, where, sent)
	first()
	var restarts, standbys []time.Duration
	for range *rounds + 1 {
		killed := time.Now()
		leader.kill()
		leader = run(b, where, sent)
		restarts = append(restarts, first().at.Sub(killed))
	}
	alone, wal := ob.idle(b)
	for i := range *rounds + 1 {
		standby := run(b, where, sent)
		<-time.After(1500 * time.Millisecond) // it has started, and found the lease held
		if i == 0 {
			ob.reportStandby(b, alone, wal)
		}
		killed := time.Now()
		leader.kill()
		s := first()
		require.Same(b, standby, s.by)
		standbys = append(standbys, s.at.Sub(killed))
		leader = standby
	}
	report(b, "restart", restarts)
	report(b, "standby", standbys)
	b.ReportMetric(0, "ns/op")
}

// settled is how long an idle PostgreSQL session holds back its statistics. Before that, earlier activity
// would count as part of the measurement.
const settled = 12 * time.Second

// report reports the median and the maximum.
func report(b *testing.B, name string, all []time.Duration) {
	b.Helper()
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Milliseconds()), name+"-ms")
	b.ReportMetric(float64(all[len(all)-1].Milliseconds()), name+"-worst-ms")
}
