package sqlforward

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// errorPause is the wait after a page that could not be moved.
const errorPause = time.Second

// Run moves messages until ctx ends, and then returns nil. The first time it replaces the
// forwarder: unless Config.Queue is set, it waits for the batch that the forwarder is sending,
// and starts after it. Errors that trying again cannot fix end it earlier: outbox.ErrNotMigrated,
// a position that was taken over already, a table of another schema, a consumer group without a
// position. Others are logged and tried again.
func (f *Forwarder) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := f.session(ctx, func(conn *sql.Conn) error { return f.loop(ctx, conn) })
		if ctx.Err() != nil {
			return nil //nolint:nilerr // when ctx ends, a session ends with an error
		}
		if fatal(err) || errors.Is(err, outbox.ErrAlreadyRunning) {
			return err
		}
		f.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "messages of the forwarder's table could not be moved",
			slog.String("table", f.cfg.Table), slog.Any("error", err))
		_ = wait.For(ctx, errorPause)
	}
	return nil
}

// loop moves pages on one connection.
func (f *Forwarder) loop(ctx context.Context, conn *sql.Conn) error {
	pause := f.cfg.PollMin
	for {
		r, more, err := f.step(ctx, conn)
		switch {
		case err != nil:
			return err
		case r.Moved+r.Malformed > 0:
			pause = f.cfg.PollMin
		}
		if more {
			continue
		}
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, f.cfg.PollMax)
	}
}

// session calls fn with a connection that waits for locks no longer than TakeOverTimeout. The
// connection is closed at the end, since its settings were changed.
func (f *Forwarder) session(ctx context.Context, fn func(conn *sql.Conn) error) error {
	if !f.running.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: the forwarder", outbox.ErrAlreadyRunning)
	}
	defer f.running.Store(false)
	f.checked = false
	if err := f.Check(ctx); err != nil {
		return err
	}
	conn, err := f.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("leat: connect: %w", err)
	}
	defer func() {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}()
	err = sqlstore.SetUp(ctx, conn, f.dialect.Name)
	if err == nil {
		_, err = conn.ExecContext(ctx, fmt.Sprintf(f.sql["lock_wait"], int(f.cfg.TakeOverTimeout/time.Second)))
	}
	if err != nil {
		return fmt.Errorf("leat: set up a connection: %w", err)
	}
	if _, err := conn.ExecContext(ctx, f.sql["position_new"], []byte(f.cfg.Table)); err != nil {
		return describe(err)
	}
	return fn(conn)
}
