package pginbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// NameIDs implements driver.IDNamer.
func (s *store) NameIDs(ctx context.Context, name string) (noted string, remembered int64, err error) {
	err = s.handle.DB().Use(ctx, func(conn *pgx.Conn) error {
		number, err := s.number(ctx, conn)
		if err != nil {
			return err
		}
		for {
			var named bool
			err := conn.QueryRow(ctx, s.ids, number, name).Scan(&noted, &remembered, &named)
			if err != nil || named || noted == name || remembered > 0 {
				return err
			}
			changed, err := conn.Exec(ctx, s.nameIDs, number, name, noted)
			if err != nil || changed.RowsAffected() > 0 {
				return err
			}
		}
	})
	return noted, remembered, pgclaim.Explain(err)
}
