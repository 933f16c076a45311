package debezium

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox"
)

// publish creates the publication of a table, unless it exists. Table is a qualified name, quoted
// where needed.
func (s *Slot) publish(ctx context.Context, table string) error {
	sql := strings.NewReplacer("{name}", literal(s.cfg.Publication), "{publication}", pgx.Identifier{s.cfg.Publication}.Sanitize(),
		"{table}", table).Replace(s.sql.publish)
	if _, err := s.pool.Exec(ctx, sql); err != nil {
		return err
	}
	_, err := s.published(ctx, table)
	return err
}

// published reports whether the publication exists, and refuses one that does not include all
// rows of the table: a connector would never send the others.
func (s *Slot) published(ctx context.Context, table string) (bool, error) {
	var problem *string
	err := s.pool.QueryRow(ctx, s.sql.published, s.cfg.Publication, table).Scan(&problem)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err == nil && problem != nil:
		return true, outbox.ConfigError("Publication", strconv.Quote(s.cfg.Publication), *problem+": "+table)
	default:
		return true, err
	}
}

// mayGoOn refuses a configuration with which a connector would start badly: a snapshot, a
// publication without rows, or a slot without its publication.
func (s *Slot) mayGoOn(ctx context.Context, table string) error {
	// Its former name is "never".
	if mode := s.cfg.SnapshotMode; mode != "no_data" && mode != "never" {
		return outbox.ConfigError("snapshot.mode", strconv.Quote(mode),
			"must be no_data: all that is still in the table would be sent again, also what inboxes have forgotten")
	}
	_, err := s.State(ctx)
	none := errors.Is(err, errNoSlot)
	if err != nil && !none {
		return err
	}
	is, err := s.published(ctx, table)
	if err == nil && !is && !none {
		return fmt.Errorf("%w: %s, and there is no publication %s", errSlotOlder, s.cfg.Slot, strconv.Quote(s.cfg.Publication))
	}
	return err
}
