package pginbox

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/ids"
)

// tableAt returns the name of the table of the range that begins at from, after the floor was
// lowered that many times.
func (r *ranges) tableAt(from pgtype.UUID, lowered int32) string {
	name := r.names.Table + "_r" + hex.EncodeToString(from.Bytes[:6])
	if lowered == 0 {
		return name
	}
	return name + strconv.FormatInt(int64(lowered), 36)
}

// attach creates a table and then attaches it as a range: PARTITION OF would wait for every open
// handler, and all claims would wait behind it.
func (r *ranges) attach(ctx context.Context, tx pgx.Tx, p rangePart) error {
	parent, table := r.names.Qualified("_ranges"), r.qualified(p.table)
	to := "MAXVALUE"
	if p.to.Valid {
		to = "'" + ids.Text(p.to.Bytes) + "'"
	}
	if _, err := tx.Exec(ctx, "CREATE TABLE "+table+" (LIKE "+parent+" INCLUDING ALL)"); err != nil {
		return err
	}
	var owner string
	switch err := tx.QueryRow(ctx, r.owner).Scan(&owner); {
	case errors.Is(err, pgx.ErrNoRows): // this role owns it
	case err != nil:
		return err
	default: // otherwise the owner could neither migrate nor drop it
		if _, err := tx.Exec(ctx, "ALTER TABLE "+table+" OWNER TO "+pgx.Identifier{owner}.Sanitize()); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM ('%s') TO (%s)",
		parent, table, ids.Text(p.from.Bytes), to))
	return err
}

// qualified returns the quoted and qualified name of a table in the inbox's schema.
func (r *ranges) qualified(table string) string {
	return pgx.Identifier{r.names.Schema, table}.Sanitize()
}
