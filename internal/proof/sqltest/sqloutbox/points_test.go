package sqloutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// producer places orders, each a row and a message. A fault hits one of its transactions.
type producer struct {
	t       *testing.T
	victim  *sqloutbox.Outbox
	look    *sql.DB
	other   *sqloutbox.Outbox
	commits *sqltest.Commits
	session func() int64 // of the victim at its server
	points  *failpointtest.Registry
	cancel  context.CancelFunc // of the order under way

	point failpoint.Name
	kind  string
}

// producers returns functions that create a producer, by database.
func producers() map[string]func(t *testing.T) *producer {
	onServer := func(dialect outbox.Dialect, server func(testing.TB) testenv.MySQLServer) func(t *testing.T) *producer {
		return func(t *testing.T) *producer {
			t.Helper()
			config := sqltest.NewMySQLDatabase(t, server(t).URL)
			return newProducer(t, dialect, sqltest.OpenMySQL(t, config, nil), func(c *sqltest.Commits) *sql.DB {
				return sql.OpenDB(c.Connector(sqltest.MySQLConnector(t, config, nil)))
			})
		}
	}
	return map[string]func(t *testing.T) *producer{
		"MySQL": onServer(outbox.MySQL, testenv.MySQL), "MariaDB": onServer(outbox.MariaDB, testenv.MariaDB),
		"SQLite": func(t *testing.T) *producer {
			t.Helper()
			path := filepath.Join(t.TempDir(), "leat.db")
			return newProducer(t, outbox.SQLite, sqltest.OpenSQLite(t, path, nil), func(c *sqltest.Commits) *sql.DB {
				return sql.OpenDB(c.Connector(sqltest.SQLiteConnector(path, nil)))
			})
		},
	}
}

func newProducer(t *testing.T, dialect outbox.Dialect, look *sql.DB, open func(*sqltest.Commits) *sql.DB) *producer {
	t.Helper()
	p := &producer{t: t, look: look, commits: &sqltest.Commits{}, points: &failpointtest.Registry{}, other: newOutbox(t, look, dialect)}
	_, err := look.ExecContext(t.Context(), "CREATE TABLE orders (id VARCHAR(20) NOT NULL PRIMARY KEY)")
	require.NoError(t, err)
	db := open(p.commits)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	p.victim, err = sqloutbox.New(db, dialect, sqloutbox.Config{})
	require.NoError(t, err)
	p.session = func() int64 {
		conn, err := db.Conn(t.Context()) // the one that there is, before it begins its transaction
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		var id int64
		require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id))
		return id
	}
	return p
}

// orders is the number of orders that the victim places, and victimOrder the one that the fault hits.
const (
	orders      = 4
	victimOrder = 2
)

// place places an order unless it already exists, and reports whether it exists now.
func (p *producer) place(ob *sqloutbox.Outbox, name string) (placed bool) {
	ctx, cancel := context.WithCancel(failpointtest.With(p.t.Context(), p.points))
	defer cancel()
	if ob == p.victim {
		p.cancel = cancel
	} else {
		ctx = p.t.Context()
	}
	defer func() {
		if what := recover(); what != nil {
			require.Contains(p.t, what, "failpoint: ")
		}
	}()
	err := ob.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var there int
		if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders WHERE id = ?", name).Scan(&there); err != nil {
			return err
		}
		if there > 0 {
			return errPlaced
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", name); err != nil {
			return err
		}
		return ob.Enqueue(ctx, tx, message(name[:1], name))
	})
	placed = err == nil || errors.Is(err, errPlaced)
	ambiguous := p.point == failpoint.ProducerCommitAmbiguous
	if ob == p.victim && !placed && (p.kind != "cut" || ambiguous) {
		require.Equal(p.t, ambiguous, errors.Is(err, outbox.ErrCommitUnknown), "%v", err)
	} // whose connection was cut otherwise knows it or not, as it noticed before COMMIT or by it
	return placed
}

var errPlaced = errors.New("the order is there")

// kinds returns the faults that can hit at a point, by kind.
func (p *producer) kinds(point failpoint.Name, dialect string) map[string]failpointtest.Action {
	all := map[string]failpointtest.Action{
		"error":  failpointtest.Error(nil),
		"panic":  failpointtest.Panic(),
		"cancel": failpointtest.Call(func(context.Context) error { p.cancel(); return nil }),
	}
	inside := point == failpoint.ProducerBeforeInsert || point == failpoint.ProducerAfterInsert
	if dialect != "SQLite" || !inside { // where nobody else can write inside
		all["pause"] = failpointtest.Call(func(context.Context) error { // while another one goes on
			for n := range orders {
				if !p.place(p.other, fmt.Sprintf("other%d", n)) {
					return errors.New("another producer could not go on")
				}
			}
			return nil
		})
	}
	switch {
	case point == failpoint.ProducerCommitAmbiguous:
		all["cut"] = failpointtest.Call(func(context.Context) error { return nil }) // it is cut at the COMMIT itself, before
	case dialect != "SQLite" && inside:
		session := p.session()
		all["cut"] = failpointtest.Call(func(ctx context.Context) error {
			_, err := p.look.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("KILL %d", session))
			return err
		})
	}
	return all
}

// TestO1_ProducerAtEveryPoint applies every kind of fault at each point of a producer, which then looks
// for its order and retries. Every order exists once, with its message.
func TestO1_ProducerAtEveryPoint(t *testing.T) {
	t.Parallel()
	for dialect, newProducer := range producers() {
		for _, point := range []failpoint.Name{
			failpoint.ProducerBeforeInsert, failpoint.ProducerAfterInsert,
			failpoint.ProducerCommitAmbiguous, failpoint.ProducerAfterCommitBeforeWake,
		} {
			t.Run(dialect+"/"+string(point), func(t *testing.T) {
				t.Parallel()
				p := newProducer(t)
				expected := 0
				for kind := range p.kinds(point, dialect) {
					p.points, p.point, p.kind = &failpointtest.Registry{}, point, kind
					require.NoError(t, p.points.EnableAt(point, victimOrder, p.kinds(point, dialect)[kind]))
					for n := range orders {
						if n == victimOrder-1 && kind == "cut" && point == failpoint.ProducerCommitAmbiguous {
							p.commits.Arm(sqltest.CutAfter)
						}
						name := fmt.Sprintf("%s%d", kind, n)
						tries := 1
						for ; !p.place(p.victim, name); tries++ {
							require.Less(t, tries, 5, "order %s", name)
						}
					}
					require.GreaterOrEqual(t, p.points.Hits(point), orders-1)
					expected += orders
					if kind == "pause" {
						expected += orders
					}
				}
				p.requireOnce(expected)
			})
		}
	}
}

// requireOnce checks that each order has exactly one message, and that each message belongs to an order.
func (p *producer) requireOnce(expected int) {
	var placed, sent, apart int
	for query, n := range map[string]*int{
		"SELECT COUNT(*) FROM orders":                                      &placed,
		"SELECT COUNT(*) FROM leat_outbox WHERE shard >= 0":                &sent,
		"SELECT COUNT(DISTINCT payload) FROM leat_outbox WHERE shard >= 0": &apart,
	} {
		require.NoError(p.t, p.look.QueryRowContext(p.t.Context(), query).Scan(n))
	}
	require.Equal(p.t, []int{expected, expected, expected}, []int{placed, sent, apart})
}
