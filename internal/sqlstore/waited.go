package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
)

// waitedTimeout bounds the search for the holder of a lock that a statement has waited for.
const waitedTimeout = 2 * time.Second

// Waited adds the likely holder of the lock to the error of a statement that has waited too long for one:
// on MySQL and MariaDB the connection of the oldest transaction that has locked rows, if the user may see
// it; on SQLite the file. Other errors stay as they are.
func (s *Store) Waited(ctx context.Context, err error) error {
	number := sqldialect.Number(err)
	late := errors.Is(err, context.DeadlineExceeded) || number == sqldialect.LockWaitTimeout
	if err == nil || s.Dialect.OneWriter && number != sqldialect.SQLiteBusy || !s.Dialect.OneWriter && !late {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitedTimeout)
	defer cancel()
	if s.Dialect.OneWriter {
		var file string
		if s.DB.QueryRowContext(ctx, s.SQL["file"]).Scan(&file) == nil && file != "" {
			err = fmt.Errorf("leat: %s is locked: %w", file, err)
		}
		return err
	}
	var connection, seconds int64
	if s.DB.QueryRowContext(ctx, s.SQL["oldest_holder"]).Scan(&connection, &seconds) == nil {
		err = fmt.Errorf("leat: waited for a lock; the oldest transaction that has locked rows is that of connection %d, since %s: %w",
			connection, time.Duration(seconds)*time.Second, err)
	}
	return err
}
