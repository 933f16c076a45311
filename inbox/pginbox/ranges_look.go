package pginbox

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/ids"
)

// lookInRange is look for an id of the ranges: it ends the transaction if there is
// one and asks, in one round trip, whether the message was processed, or is below
// the floor of an inbox that deletes.
func (k keys) lookInRange(ctx context.Context, conn *pgx.Conn, number int16, id pgtype.UUID) (driver.Status, error) {
	sql := strings.NewReplacer("$1", strconv.Itoa(int(number)), "$2", "'"+ids.Text(id.Bytes)+"'").Replace(k.seenRange)
	if conn.PgConn().TxStatus() != 'I' {
		sql = "rollback;" + sql
	}
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		giveUp(ctx, conn)
		return 0, explain(err)
	}
	row := results[len(results)-1].Rows
	switch {
	case len(row) != 1 || len(row[0]) != 2:
		return 0, errors.New("leat: the inbox could not be read")
	case string(row[0][0]) == "t":
		return driver.Duplicate, nil
	case string(row[0][1]) == "t":
		return 0, inbox.Permanent(driver.ErrTooOld)
	default:
		return driver.Busy, nil
	}
}
