package pgpin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/pgerr"
)

// Address opens connections in addition to the application's, as the application would: with the
// current password.
type Address interface {
	// Dial calls connect with the configuration for a new connection, which connect may change. After
	// an error it may call it again with another password.
	Dial(ctx context.Context, connect func(cfg *pgx.ConnConfig) error) error

	// Ready prepares a new connection as the application prepares its own.
	Ready(ctx context.Context, conn *pgx.Conn) error

	// Same reports whether a connection with cfg certainly leads to the same database.
	Same(cfg *pgx.ConnConfig) bool
}

// AddressOf returns the Address of a pool, which is read once: Pool.Config copies.
func AddressOf(pool *pgxpool.Pool) Address { return pgxAddress{pool.Config()} }

type pgxAddress struct{ pool *pgxpool.Config }

// Dial implements Address.
func (a pgxAddress) Dial(ctx context.Context, connect func(cfg *pgx.ConnConfig) error) error {
	cfg := a.pool.ConnConfig.Copy()
	if a.pool.BeforeConnect != nil {
		if err := a.pool.BeforeConnect(ctx, cfg); err != nil {
			return err
		}
	}
	return connect(cfg)
}

// Ready implements Address.
func (a pgxAddress) Ready(ctx context.Context, conn *pgx.Conn) error {
	if a.pool.AfterConnect == nil {
		return nil
	}
	return a.pool.AfterConnect(ctx, conn)
}

// Same implements Address.
func (a pgxAddress) Same(cfg *pgx.ConnConfig) bool {
	own := a.pool.ConnConfig
	return own.Host == cfg.Host && own.Port == cfg.Port && own.Database == cfg.Database
}

// learnTimeout bounds the wait for a connection of db to learn from. It is shorter than the waits for
// additional connections, so that its error is seen.
const learnTimeout = 4 * time.Second

// errFull is the error of a db that lends no connection.
var errFull = errors.New("leat: no connection of the *sql.DB became free to learn its address and password from: " +
	"give it one more (SetMaxOpenConns), or call Migrate at start")

// Dial implements Address. database/sql does not show how it connects, but each open connection
// shows its configuration. That is remembered until the server refuses it.
func (s *SQL) Dial(ctx context.Context, connect func(cfg *pgx.ConnConfig) error) error {
	var refused []string
	for {
		cfg, err := s.learn(ctx, refused)
		if err != nil {
			return err
		}
		password := cfg.Password
		err = connect(cfg)
		if err == nil {
			return nil
		}
		s.last.Store(nil)
		if pgerr.Class(err) != pgerr.InvalidAuthorization || slices.Contains(refused, password) {
			return err
		}
		refused = append(refused, password)
	}
}

// learn returns the configuration of a connection of db whose password is not in refused. If the
// idle connections have only refused passwords, they are held while db opens another one, with its
// current password.
func (s *SQL) learn(ctx context.Context, refused []string) (*pgx.ConnConfig, error) {
	if last := s.last.Load(); last != nil && !slices.Contains(refused, last.Password) {
		return last.Copy(), nil
	}
	bounded, cancel := context.WithTimeoutCause(ctx, learnTimeout, errFull)
	defer cancel()
	var outdated []*held
	defer func() {
		for _, h := range outdated {
			h.release()
		}
	}()
	for {
		h, err := s.hold(bounded)
		if errors.Is(context.Cause(bounded), errFull) && err != nil {
			if len(outdated) > 0 { // there is room for a new one then
				_ = outdated[0].conn.Close(context.WithoutCancel(ctx))
			}
			return nil, fmt.Errorf("%w: %w", errFull, err)
		}
		if err != nil {
			return nil, err
		}
		cfg := h.conn.Config()
		if !slices.Contains(refused, cfg.Password) {
			s.last.Store(cfg)
			h.release()
			return cfg.Copy(), nil
		}
		outdated = append(outdated, h)
	}
}

// Ready implements Address. The effect of stdlib.OptionAfterConnect is not known here.
func (*SQL) Ready(context.Context, *pgx.Conn) error { return nil }

// Same implements Address. The address is not known before the first connection.
func (*SQL) Same(*pgx.ConnConfig) bool { return false }
