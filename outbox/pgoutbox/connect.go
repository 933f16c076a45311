package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox/internal/pglog"
)

// ownConn is one of the library's own connections, in addition to the pool.
type ownConn struct {
	*pgx.Conn

	// direct is set if there is no pooler in between.
	direct bool
	// synchronousCommit, isolation and readOnly are the settings of the role, the database and
	// the address.
	synchronousCommit, isolation, readOnly string
}

// connectAs opens a connection with its own settings, under a name for pg_stat_activity. A crash
// of the server may lose positions (which costs repeats, never a loss), so they do not wait for
// the disk.
//
// Through a pooler it sets nothing and keeps no state on the server, so that it works with one in
// transaction mode as well: then positions wait for the disk, and only the context bounds a
// statement.
func (o *Outbox) connectAs(ctx context.Context, name string) (*ownConn, error) {
	c, err := o.tryConnect(ctx, name)
	if err != nil {
		return nil, err
	}
	if c.direct || !keepsStatements(c.Config().DefaultQueryExecMode) {
		return c, nil
	}
	// The mode of a connection is fixed when it is opened.
	if err := c.Close(ctx); err != nil {
		return nil, err
	}
	return o.tryConnect(ctx, name)
}

func (o *Outbox) tryConnect(ctx context.Context, name string) (*ownConn, error) {
	conn, err := pglog.Connect(ctx, o.address, func(cfg *pgx.ConnConfig) {
		cfg.RuntimeParams["application_name"] = storable.AtMost(name, 63)
		cfg.OnNotification = nil
		if o.pooled.Load() && keepsStatements(cfg.DefaultQueryExecMode) {
			cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
	})
	if err != nil {
		return nil, err
	}
	c := &ownConn{Conn: conn}
	var set int
	err = conn.QueryRow(ctx, o.sql.own, pgx.QueryExecModeSimpleProtocol, int64(conn.PgConn().PID())).
		Scan(&c.direct, &c.synchronousCommit, &c.isolation, &c.readOnly, &set)
	if err != nil {
		return nil, errors.Join(pgerr.Standby(err), conn.Close(context.WithoutCancel(ctx)))
	}
	o.pooled.Store(!c.direct)
	return c, nil
}

// keepsStatements reports whether a connection in mode relies on the server to remember a
// statement from one round trip to the next.
func keepsStatements(mode pgx.QueryExecMode) bool {
	return mode == pgx.QueryExecModeCacheStatement || mode == pgx.QueryExecModeDescribeExec
}

// connect opens a connection for a relay's session.
func (s *source) connect(ctx context.Context) (*pgx.Conn, error) {
	c, err := s.ob.connectAs(ctx, "leat relay "+s.cfg.Group)
	if err != nil {
		return nil, err
	}
	if err = s.ob.guard(c); err == nil {
		err = s.warnOfSplitter(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	if !c.direct {
		s.pooled.Do(func() {
			s.ob.cfg.Logger.WarnContext(ctx, "relay reads through a pooler, which costs speed: it leaves the settings of sessions alone",
				slog.String("group", s.cfg.Group))
		})
	}
	return c.Conn, nil
}

// warnOfSplitter logs once if a read/write splitter sends the connection's reads to a standby. It
// does no harm, since reads that decide something run on the primary (rule R13), or fail.
func (s *source) warnOfSplitter(ctx context.Context, c *ownConn) error {
	var standby bool
	err := c.QueryRow(ctx, s.ob.sql.inHotStandby, pgx.QueryExecModeSimpleProtocol).Scan(&standby)
	if err == nil && standby {
		s.split.Do(func() {
			s.ob.cfg.Logger.WarnContext(ctx, "a read/write splitter stands before the database: connect the relay to the primary itself",
				slog.String("group", s.cfg.Group))
		})
	}
	return err
}

// tryOwn opens a connection as a session would, to find out whether that works.
func (s *source) tryOwn(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err == nil {
		pglog.Close(ctx, conn)
	}
	return err
}

// guard refuses settings with which messages could be lost, and those that a relay needs and
// cannot set itself behind a pooler.
func (o *Outbox) guard(c *ownConn) error {
	switch {
	case c.synchronousCommit == "off" && !o.cfg.AllowAsyncCommit:
		return errAsyncCommit
	case !c.direct && c.isolation != "read committed":
		return fmt.Errorf("%w: default_transaction_isolation is %q, want \"read committed\"", errPooled, c.isolation)
	case !c.direct && c.readOnly == "on":
		return fmt.Errorf("%w: default_transaction_read_only is on", errPooled)
	default:
		return nil
	}
}

// errPooled is the error of something that a pooler makes impossible.
var errPooled = errors.New("leat: a pooler stands before the database, so that the relay cannot set its sessions up")
