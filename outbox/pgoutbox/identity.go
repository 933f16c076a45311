package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/pgunit"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/pglog"
)

// checkDatabase refuses a transaction of another database than the outbox's. A
// connection is looked at once in its life: whether its texts are UTF-8, too. Where its address is the pool's,
// that settles it; else it is asked which outbox it sees. It returns what is noted on the
// connection.
// See design 3.2.
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

// knows is checkDatabase for a connection of the pool, as far as it takes no round trip.
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

// errArrayNulls is the error of a session in which an array of texts knows no NULL.
var errArrayNulls = errors.New("leat: array_nulls is off: a message without a key would get the key NULL; set it to on for the role, for the database or in the address")

// checkNulls refuses a session in which the arrays of enqueue.sql travel as text and would
// mean something else. In binary form they do not.
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

// foreign returns the error of a transaction that does not know its instance.
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

// askTimeout bounds the look at which outbox this is.
const askTimeout = 5 * time.Second

// asking is one look, for all that want to know meanwhile.
type asking struct {
	done   chan struct{} // closed when what follows is set
	err    error
	gaveUp bool // its caller did: that says nothing to the others
}

// instanceID returns what tells this outbox from every other. It asks once, on
// a connection of its own: the caller may hold the pool's last one. Nobody waits for
// another's look for longer than askTimeout, or than its own context allows.
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

// known returns the instance, or the look that is under way, which may be the caller's.
func (o *Outbox) known() (instance string, look *asking, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.instance == "" && o.asking == nil {
		o.asking, first = &asking{done: make(chan struct{})}, true
	}
	return o.instance, o.asking, first
}

// ask carries out look.
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
