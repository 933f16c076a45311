package pgoutbox

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/pgunit"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/pglog"
)

// checkDatabase refuses a transaction of a database other than the outbox's. A connection is
// checked once in its life, including whether its texts are UTF-8. If its address is the pool's,
// that settles it; otherwise it is asked which outbox it sees. It returns the state recorded for
// the connection. See design 3.2.
func (o *Outbox) checkDatabase(ctx context.Context, tx pgx.Tx) (*keyLocks, error) {
	conn := pgunit.ConnOf(tx)
	notes := conn.PgConn().CustomData()
	if taken, ok := notes[o.noteKey].(*keyLocks); ok {
		return taken, nil
	}
	if err := pgmigrate.CheckEncoding(conn.PgConn()); err != nil {
		return nil, err
	}
	if theirs := conn.Config(); !o.address.Same(theirs) {
		instance, err := o.instanceID(ctx)
		if err != nil {
			return nil, err
		}
		var seen string
		if err := tx.QueryRow(ctx, o.sql.instance).Scan(&seen); err != nil {
			return nil, foreign(err)
		}
		if seen != instance {
			return nil, fmt.Errorf("%w: it is %q on %s:%d", outbox.ErrWrongDatabase, theirs.Database, theirs.Host, theirs.Port)
		}
	}
	if err := checkNulls(ctx, tx); err != nil {
		return nil, err
	}
	taken := &keyLocks{simple: conn.Config().DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol}
	notes[o.noteKey] = taken
	return taken, nil
}

// knows is checkDatabase for a connection of the pool, as far as that needs no round trip.
func (o *Outbox) knows(conn *pgx.Conn) bool {
	notes := conn.PgConn().CustomData()
	if _, ok := notes[o.noteKey].(*keyLocks); ok {
		return true
	}
	cfg := conn.Config() // a copy
	switch cfg.DefaultQueryExecMode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return false
	default:
	}
	if !o.address.Same(cfg) || pgmigrate.CheckEncoding(conn.PgConn()) != nil {
		return false
	}
	notes[o.noteKey] = &keyLocks{}
	return true
}

// ownDatabase is the first argument of an INSERT that compares the instance. pgx passes the
// connection to it before anything is sent: if the connection is known to lead to the outbox's
// database, the INSERT omits the comparison, which costs the server more than the row. See design
// 3.2.
type ownDatabase struct {
	outbox   *Outbox
	seen     *atomic.Bool // state of the connection; nil if pgx did not call
	compares bool
}

var (
	_ pgx.QueryRewriter = (*ownDatabase)(nil)
	_ driver.Valuer     = (*ownDatabase)(nil)
)

// RewriteQuery implements pgx.QueryRewriter.
func (d *ownDatabase) RewriteQuery(_ context.Context, conn *pgx.Conn, sql string, args []any) (string, []any, error) {
	notes := conn.PgConn().CustomData()
	d.seen, _ = notes[d.outbox.seenKey].(*atomic.Bool)
	if d.seen == nil {
		d.seen = new(atomic.Bool)
		notes[d.outbox.seenKey] = d.seen
	}
	d.compares = !d.seen.Load() && !d.outbox.knows(conn)
	if d.compares {
		return sql, args, nil
	}
	sql, args = d.outbox.sql.unchecked(sql, args)
	return sql, args, nil
}

// stored records that the INSERT has stored all rows: the compared instance was right, and need
// not be compared on this connection again.
func (d *ownDatabase) stored() {
	if d.compares {
		d.seen.Store(true)
	}
}

// errOtherDriver is the error of an ownDatabase that reaches a driver other than pgx's.
var errOtherDriver = errors.New("leat: the driver is not pgx's")

// Value implements driver.Valuer: other drivers turn arguments into values before they send anything.
func (*ownDatabase) Value() (driver.Value, error) { return nil, errOtherDriver }

// execSQL runs an INSERT that compares the instance, and that should store rows rows. It reports
// whether the instance was compared.
func (o *Outbox) execSQL(ctx context.Context, tx *sql.Tx, query string, args []any, rows int64) (n int64, compared bool, err error) {
	var result sql.Result
	own := &ownDatabase{outbox: o}
	if !o.otherDriver.Load() {
		result, err = tx.ExecContext(ctx, query, append([]any{own}, args...)...)
	}
	if own.seen == nil { // pgx did not call
		other := errors.Is(err, errOtherDriver)
		o.otherDriver.CompareAndSwap(false, other)
		own.compares = true
		refused := err
		result, err = tx.ExecContext(ctx, query, args...)
		if err != nil && refused != nil && !other {
			err = refused
		}
	}
	if err != nil {
		return 0, own.compares, err
	}
	n, err = result.RowsAffected()
	if err == nil && n == rows && own.seen != nil {
		own.stored()
	}
	return n, own.compares, err
}

// errArrayNulls is the error of a session in which arrays of texts cannot contain NULL.
var errArrayNulls = errors.New("leat: array_nulls is off: a message without a key would get the key NULL; set it to on for the role, for the database or in the address")

// checkNulls refuses a session in which the arrays of enqueue.sql are sent as text and would have
// another meaning. In the binary format they do not.
func checkNulls(ctx context.Context, tx pgx.Tx) error {
	switch pgunit.ConnOf(tx).Config().DefaultQueryExecMode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
	default:
		return nil
	}
	var setting string
	err := tx.QueryRow(ctx, "SELECT pg_catalog.current_setting('array_nulls')").Scan(&setting)
	if err == nil && setting != "on" {
		err = errArrayNulls
	}
	return err
}

// foreign returns the error of a transaction that does not contain our instance.
func foreign(err error) error {
	switch {
	case errors.Is(err, pgx.ErrTxClosed):
		return fmt.Errorf("%w: %w", outbox.ErrNotInTransaction, err)
	case errors.Is(err, pgx.ErrNoRows), pgerr.Is(err, pgerr.UndefinedTable, pgerr.InvalidSchemaName, pgerr.InsufficientPrivilege):
		return fmt.Errorf("%w: %w", outbox.ErrWrongDatabase, err)
	default:
		return err
	}
}

// askTimeout bounds the query for the outbox's instance.
const askTimeout = 5 * time.Second

// asking is one query, shared by all callers that need it at the time.
type asking struct {
	done   chan struct{} // closed when what follows is set
	err    error
	gaveUp bool // its caller's context ended: that does not concern the others
}

// instanceID returns the unique id of this outbox. It asks once, on its own connection: the
// caller may hold the pool's last one. A caller waits for another's query for at most askTimeout,
// and for as long as its own context allows.
func (o *Outbox) instanceID(ctx context.Context) (string, error) {
	for {
		instance, look, first := o.known()
		if instance != "" {
			return instance, nil
		}
		if first {
			return o.ask(ctx, look)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-look.done:
		}
		if look.err != nil && !look.gaveUp {
			return "", look.err
		}
	}
}

// known returns the instance, or the query in progress, which the caller may have to run.
func (o *Outbox) known() (instance string, look *asking, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.instance == "" && o.asking == nil {
		o.asking, first = &asking{done: make(chan struct{})}, true
	}
	return o.instance, o.asking, first
}

// ask runs look.
func (o *Outbox) ask(ctx context.Context, look *asking) (instance string, err error) {
	bounded, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	defer func() {
		look.err, look.gaveUp = err, ctx.Err() != nil
		o.mu.Lock()
		defer o.mu.Unlock()
		o.instance, o.asking = instance, nil
		close(look.done)
	}()
	conn, err := pglog.Connect(bounded, o.address, pglog.AsIs)
	if err != nil {
		return "", err
	}
	defer pglog.Close(ctx, conn)
	if err := conn.QueryRow(bounded, o.sql.instance).Scan(&instance); err != nil {
		return "", describe(err)
	}
	return instance, nil
}
