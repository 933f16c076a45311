package sqllog

import (
	"context"
	"database/sql"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.OutageKeeper = (*session)(nil)

// KeepOutages implements driver.OutageKeeper.
func (s *session) KeepOutages(ctx context.Context, all []driver.Outage) error {
	return s.writing.Use(ctx, func(conn *sql.Conn) error {
		return s.log.ChangeOn(ctx, conn, func(tx *sql.Tx) error {
			group := []byte(s.reader.Group)
			if _, err := tx.ExecContext(ctx, s.log.SQL["out_delete"], group, s.epoch); err != nil {
				return err
			}
			for _, o := range all {
				if _, err := tx.ExecContext(ctx, s.log.SQL["out_insert"], []byte(o.Topic), o.Since.UnixMicro(), []byte(o.Cause), []byte(o.Error),
					group, []byte(s.owner), s.epoch); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Outages returns the outages that the leader of a group has stored.
func (l *Log) Outages(ctx context.Context, q sqlstore.Querier, g *GroupState) (all []driver.Outage, err error) {
	name := []byte(g.Name)
	err = sqlstore.Each(ctx, q, func(scan sqlstore.Scanner) error {
		var o driver.Outage
		var topic, cause, text []byte
		var since int64
		if err := scan(&topic, &since, &cause, &text, &o.Waiting); err != nil {
			return err
		}
		o.Topic, o.Since, o.Cause, o.Error = string(topic), sqlstore.Time(since), string(cause), string(text)
		all = append(all, o)
		return nil
	}, l.SQL["out_list"], name, name, g.Epoch)
	return all, err
}
