package sqlinbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/sqlstore"
)

var _ driver.Marker = (*Inbox)(nil)

// serverOf returns the server on which the marks of the message's group were read. It is empty, and not NULL,
// if they are somewhere else, and on SQLite, which has no server.
func (s *store) serverOf(ctx context.Context) []byte {
	from, history := driver.MarksFrom(ctx)
	in, ok := from.(*Inbox)
	if !ok || s.Dialect.OneWriter || in.store.DB != s.DB || in.store.Table != s.Table {
		return []byte{}
	}
	return []byte(history)
}

// sameServer returns driver.ErrMarksMoved if server is another one.
func (s *store) sameServer(ctx context.Context, server []byte) error {
	if len(server) == 0 {
		return nil
	}
	var now []byte
	err := s.Query(ctx, func(q sqlstore.Querier) error { return q.QueryRowContext(ctx, s.SQL["who"]).Scan(&now) })
	if err == nil && !bytes.Equal(now, server) {
		err = driver.ErrMarksMoved
	}
	return err
}

// Marks implements driver.Marker, for kafkasource.Config. The marks belong to the group, whatever
// the consumer's name.
func (in *Inbox) Marks(ctx context.Context, of driver.GroupTopic) (marks driver.Marks, err error) {
	s := in.store
	marks.Partitions = map[int32]driver.Mark{}
	err = s.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		var part sql.Null[int32]
		var next sql.Null[int64]
		var token []byte
		if err := scan(&marks.History, &marks.Known, &part, &next, &token); err != nil || !part.Valid {
			return err
		}
		marks.Partitions[part.V] = driver.Mark{Next: next.V, Token: string(token)}
		return nil
	}, s.SQL["marks"], []byte(of.Group), []byte(of.Group), []byte(of.Topic), []byte(of.Source))
	return marks, s.Describe(err)
}

// SetMarks implements driver.Marker.
func (in *Inbox) SetMarks(ctx context.Context, of driver.GroupTopic, history string, marks map[int32]driver.Mark) (token string, err error) {
	if err := in.Check(ctx); err != nil {
		return "", err
	}
	s := in.store
	token = rand.Text()
	err = s.Change(ctx, func(tx *sql.Tx) error {
		var now string
		tokens := map[int32]string{}
		err := tx.QueryRowContext(ctx, s.SQL["who"]).Scan(&now)
		if err == nil {
			err = sqlstore.Each(ctx, tx, func(scan sqlstore.Scanner) error {
				var part int32
				var token []byte
				err := scan(&part, &token)
				tokens[part] = string(token)
				return err
			}, s.SQL["marks_lock"], []byte(of.Group), []byte(of.Topic), []byte(of.Source))
		}
		if err != nil {
			return err
		}
		args := make([]any, 0, 6*len(marks))
		for part, m := range marks {
			if m.Token != tokens[part] || history != now {
				return driver.ErrMarksMoved
			}
			args = append(args, []byte(of.Group), []byte(of.Topic), []byte(of.Source), part, m.Next, []byte(token))
		}
		_, err = sqlstore.Written(ctx, tx, s.SQL.Rows("marks_set", len(marks)), args...)
		return err
	})
	return token, s.Describe(err)
}
