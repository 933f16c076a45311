package pgoutbox

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox"
)

// checkDatabase refuses a transaction of another database than the outbox's. A
// connection is looked at once in its life. Where its address is the pool's,
// that settles it; else it is asked which outbox it sees.
func (o *Outbox) checkDatabase(ctx context.Context, tx pgx.Tx) error {
	conn := tx.Conn()
	notes := conn.PgConn().CustomData()
	if _, ok := notes[o.noteKey]; ok {
		return nil
	}
	ours, theirs := o.address.ConnConfig, conn.Config()
	if ours.Host != theirs.Host || ours.Port != theirs.Port || ours.Database != theirs.Database {
		instance, err := o.instanceID(ctx)
		if err != nil {
			return err
		}
		var seen [16]byte
		if err := tx.QueryRow(ctx, o.sql.instance).Scan(&seen); err != nil {
			return fmt.Errorf("%w: %w", outbox.ErrWrongDatabase, describe(err))
		}
		if seen != instance {
			return fmt.Errorf("%w: it is %q on %s:%d", outbox.ErrWrongDatabase, theirs.Database, theirs.Host, theirs.Port)
		}
	}
	notes[o.noteKey] = struct{}{}
	return nil
}

// instanceID returns what tells this outbox from every other. It asks once, on
// a connection of its own: the caller may hold the pool's last one.
func (o *Outbox) instanceID(ctx context.Context) ([16]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.instance != [16]byte{} {
		return o.instance, nil
	}
	conn, err := o.connect(ctx)
	if err != nil {
		return [16]byte{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	if err := conn.QueryRow(ctx, o.sql.instance).Scan(&o.instance); err != nil {
		return [16]byte{}, describe(err)
	}
	return o.instance, nil
}

// connect opens a connection beside the pool, as the pool would.
func (o *Outbox) connect(ctx context.Context) (*pgx.Conn, error) {
	cfg := o.address.ConnConfig.Copy()
	if o.address.BeforeConnect != nil {
		if err := o.address.BeforeConnect(ctx, cfg); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, cfg)
}
