package pgoutbox

import (
	"context"
	"errors"
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
		var seen string
		if err := tx.QueryRow(ctx, o.sql.instance).Scan(&seen); err != nil {
			return foreign(err)
		}
		if seen != instance {
			return fmt.Errorf("%w: it is %q on %s:%d", outbox.ErrWrongDatabase, theirs.Database, theirs.Host, theirs.Port)
		}
	}
	notes[o.noteKey] = struct{}{}
	return nil
}

// foreign says what it means that a transaction does not know its instance.
func foreign(err error) error {
	switch {
	case errors.Is(err, pgx.ErrTxClosed):
		return fmt.Errorf("%w: %w", outbox.ErrNotInTransaction, err)
	case errors.Is(err, pgx.ErrNoRows), sqlState(err, undefinedTable, invalidSchemaName, insufficientPrivilege):
		return fmt.Errorf("%w: %w", outbox.ErrWrongDatabase, err)
	default:
		return err
	}
}

// instanceID returns what tells this outbox from every other. It asks once, on
// a connection of its own: the caller may hold the pool's last one.
func (o *Outbox) instanceID(ctx context.Context) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.instance != "" {
		return o.instance, nil
	}
	conn, err := o.connect(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var instance string
	if err := conn.QueryRow(ctx, o.sql.instance).Scan(&instance); err != nil {
		return "", describe(err)
	}
	o.instance = instance
	return instance, nil
}

// connect opens a connection beside the pool, as the pool would.
func (o *Outbox) connect(ctx context.Context) (*pgx.Conn, error) {
	return o.connectWith(ctx, func(*pgx.ConnConfig) {})
}

// connectWith is connect with a change of the configuration.
func (o *Outbox) connectWith(ctx context.Context, change func(cfg *pgx.ConnConfig)) (*pgx.Conn, error) {
	cfg := o.address.ConnConfig.Copy()
	if o.address.BeforeConnect != nil {
		if err := o.address.BeforeConnect(ctx, cfg); err != nil {
			return nil, err
		}
	}
	change(cfg)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil || o.address.AfterConnect == nil {
		return conn, err
	}
	if err := o.address.AfterConnect(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}
