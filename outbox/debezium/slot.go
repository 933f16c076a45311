package debezium

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
)

// SlotConfig names the replication slot of a connector.
type SlotConfig struct {
	// Slot is the connector's slot.name.
	// Defaults to "debezium", as the connector's does.
	Slot string
	// Publication is the connector's publication.name.
	// Defaults to "dbz_publication", as the connector's does.
	Publication string
	// SnapshotMode is the connector's snapshot.mode. Handoff.PrepareConnector needs "no_data".
	// Defaults to "initial", as the connector's does.
	SnapshotMode string
}

// SlotState is the progress of a connector.
type SlotState struct {
	// Active reports whether a connector uses the slot.
	Active bool
	// Confirmed is the position in the write-ahead log up to which it has confirmed that
	// everything was sent. A connector confirms every offset.flush.interval.ms, a minute by
	// default.
	Confirmed string
	// BehindBytes is the size of the log written since then, which the server retains.
	BehindBytes int64

	lost, reached bool
}

// Slot is the replication slot of a connector. It is safe for concurrent use.
type Slot struct {
	pool *pgxpool.Pool
	cfg  SlotConfig
	sql  statements
}

// slotName matches what PostgreSQL accepts as the name of a slot.
var slotName = regexp.MustCompile(`^[a-z0-9_]{1,63}$`)

// NewSlot returns the slot that cfg names, in the database of pool. It connects to
// nothing. Errors wrap outbox.ErrInvalidConfig.
func NewSlot(pool *pgxpool.Pool, cfg SlotConfig) (*Slot, error) {
	if cfg.Slot == "" {
		cfg.Slot = "debezium"
	}
	if cfg.Publication == "" {
		cfg.Publication = "dbz_publication"
	}
	if cfg.SnapshotMode == "" {
		cfg.SnapshotMode = "initial"
	}
	switch {
	case pool == nil:
		return nil, outbox.ConfigError("pool", nil, "must not be nil")
	case !slotName.MatchString(cfg.Slot):
		return nil, outbox.ConfigError("Slot", strconv.Quote(cfg.Slot), "must consist of a-z, 0-9 and _, at most 63")
	case len(cfg.Publication) > 63 || !quotable(cfg.Publication):
		return nil, outbox.ConfigError("Publication", strconv.Quote(cfg.Publication), "must be valid UTF-8 without NUL, of at most 63 bytes")
	}
	sql, err := loadStatements()
	return &Slot{pool: pool, cfg: cfg, sql: sql}, err
}

// quotable reports whether s can be part of the body of an SQL function.
func quotable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.Contains(s, "$leat$")
}

// State returns the progress of the connector. It fails if there is no slot, or if the server has
// removed log that it needs. Errors wrap outbox.ErrInvalidConfig if the slot has a plugin other
// than pgoutput.
func (s *Slot) State(ctx context.Context) (SlotState, error) { return s.state(ctx, "0/0") }

// state also returns whether the slot has reached a position.
func (s *Slot) state(ctx context.Context, position string) (st SlotState, err error) {
	var plugin string
	err = s.pool.QueryRow(ctx, s.sql.slot, s.cfg.Slot, position).
		Scan(&st.Active, &st.Confirmed, &st.lost, &st.BehindBytes, &st.reached, &plugin)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return st, fmt.Errorf("%w: %s", errNoSlot, s.cfg.Slot)
	case err == nil && plugin != "pgoutput":
		return st, outbox.ConfigError("Slot", strconv.Quote(s.cfg.Slot), "has the plugin "+strconv.Quote(plugin)+", and not pgoutput")
	case err == nil && st.lost:
		return st, fmt.Errorf("%w: %s", errSlotLost, s.cfg.Slot)
	default:
		return st, err
	}
}

// Mark returns a position in the write-ahead log that is after everything that has committed.
func (s *Slot) Mark(ctx context.Context) (position string, err error) {
	err = s.pool.QueryRow(ctx, s.sql.mark).Scan(&position)
	return position, err
}

// Pending returns the number of rows that had committed at a position and that the connector has
// not confirmed. It reads the log, and fails while the slot is in use.
func (s *Slot) Pending(ctx context.Context, position string) (rows int64, err error) {
	err = s.pool.QueryRow(ctx, s.sql.pending, s.cfg.Slot, position, pgx.Identifier{s.cfg.Publication}.Sanitize()).Scan(&rows)
	return rows, s.describe(err)
}

// mayCatchUp returns an error if the connector is stopped, so that waiting for it is pointless.
func (s *Slot) mayCatchUp(ctx context.Context) error {
	st, err := s.State(ctx)
	if err != nil || st.Active {
		return err
	}
	position, err := s.Mark(ctx)
	if err != nil {
		return err
	}
	rows, err := s.Pending(ctx, position)
	switch {
	case errors.Is(err, errConnectorRunning): // it has just been started
		return nil
	case err == nil && rows > 0:
		return fmt.Errorf("%w: %d rows of %s", errConnectorStopped, rows, s.cfg.Publication)
	default:
		return err
	}
}

// Create creates the slot, and returns the position from which it contains every commit. The
// publication must be older. It waits for all open transactions of the cluster that have written
// something.
func (s *Slot) Create(ctx context.Context) (position string, err error) {
	err = s.pool.QueryRow(ctx, s.sql.createSlot, s.cfg.Slot).Scan(&position)
	return position, err
}

// Drop drops the slot, after which the server keeps no log for it. What its connector has not
// sent by then, it never sends. It fails while the slot is in use.
func (s *Slot) Drop(ctx context.Context) error {
	if _, err := s.State(ctx); err != nil && !errors.Is(err, errSlotLost) {
		return err
	}
	_, err := s.pool.Exec(ctx, s.sql.dropSlot, s.cfg.Slot)
	return s.describe(err)
}

func (s *Slot) describe(err error) error {
	if pgerr.Is(err, pgerr.ObjectInUse) {
		return fmt.Errorf("%w: %s: %w", errConnectorRunning, s.cfg.Slot, err)
	}
	return err
}
