package pglog

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgpin"
)

// Connect opens a connection in addition to those of the application, with its configuration as
// modified by change. The settings for reading and writing texts are set as it begins, overriding
// those of the role and the database: poolers pass these settings on.
func Connect(ctx context.Context, address pgpin.Address, change func(cfg *pgx.ConnConfig)) (conn *pgx.Conn, err error) {
	err = address.Dial(ctx, func(cfg *pgx.ConnConfig) error {
		change(cfg)
		for name, value := range texts {
			maps.DeleteFunc(cfg.RuntimeParams, func(set, _ string) bool { return strings.EqualFold(set, name) })
			cfg.RuntimeParams[name] = value
		}
		conn, err = pgx.ConnectConfig(ctx, cfg)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err = address.Ready(ctx, conn); err == nil {
		err = pgpin.RefuseReserved(ctx, conn)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// texts are the settings without which pgx cannot read texts. PgBouncer knows these three, and
// refuses to connect if others are asked for.
var texts = map[string]string{"client_encoding": "UTF8", "DateStyle": "ISO", "standard_conforming_strings": "on"} //nolint:gochecknoglobals // constants

// AsIs changes nothing. It is for Connect.
func AsIs(*pgx.ConnConfig) {}

// Close closes conn and waits until it is fully closed, for a second at most.
func Close(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // best effort: the server ends the session all the same
	select {
	case <-conn.PgConn().CleanupDone(): // a cancelled call is cleaned up in the background
	case <-ctx.Done():
	}
}
