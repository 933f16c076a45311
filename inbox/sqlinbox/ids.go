package sqlinbox

import (
	"context"
	"database/sql"

	"github.com/leat-go/leat/internal/sqlstore"
)

// NameIDs implements driver.IDNamer.
func (s *store) NameIDs(ctx context.Context, name string) (noted string, remembered int64, err error) {
	number, err := s.ready(ctx)
	for named := int64(0); err == nil && named == 0; {
		err = s.Query(ctx, func(q sqlstore.Querier) error {
			var from []byte
			err := q.QueryRowContext(ctx, s.SQL["ids"], []byte(name), number, number).Scan(&from, &remembered)
			noted = string(from)
			return err
		})
		if err != nil || noted == name || remembered > 0 {
			break
		}
		err = s.Change(ctx, func(tx *sql.Tx) (err error) {
			named, err = s.Exec(ctx, tx, "ids_name", []byte(name), number, []byte(noted))
			return err
		})
	}
	return noted, remembered, s.Describe(err)
}
