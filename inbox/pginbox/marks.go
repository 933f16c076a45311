package pginbox

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

var _ driver.Marker = (*Inbox)(nil)

// markStatements are the statements for marks.
type markStatements struct{ read, set, here string }

func newMarkStatements(names pgmigrate.Names) (s markStatements, err error) {
	var history string
	if err = sqlfile.Load(statementFiles, names.Render, map[string]*string{"marks_history": &history}); err != nil {
		return s, err
	}
	err = sqlfile.Load(statementFiles, func(sql string) (string, error) {
		return names.Render(strings.ReplaceAll(sql, "{history}", "("+history+")"))
	}, map[string]*string{"marks": &s.read, "marks_set": &s.set, "marks_here": &s.here})
	return s, err
}

// sameHistory returns driver.ErrMarksMoved if the marks of the message's group were read here, in another
// history than that of conn. The connection remembers its history: after a failover the connections are new.
func (c consumer) sameHistory(ctx context.Context, conn *pgx.Conn) error {
	from, want := driver.MarksFrom(ctx)
	in, ok := from.(*Inbox)
	if !ok || in.store.home != c.home {
		return nil
	}
	memory := conn.PgConn().CustomData()
	have, ok := memory[c.historyName].(string)
	if !ok {
		if err := conn.QueryRow(ctx, c.marks.here).Scan(&have); err != nil {
			return pgclaim.Explain(err)
		}
		memory[c.historyName] = have
	}
	if have != want {
		return driver.ErrMarksMoved
	}
	return nil
}

// Marks implements driver.Marker, for kafkasource.Config. The marks belong to the group, whatever
// the consumer's name. On a standby it returns an error.
func (in *Inbox) Marks(ctx context.Context, of driver.GroupTopic) (marks driver.Marks, err error) {
	marks.Partitions = map[int32]driver.Mark{}
	err = in.db.Use(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, in.store.marks.read, of.Group, of.Topic, of.Source)
		if err != nil {
			return err
		}
		var part *int32
		var token *string
		var next *int64
		_, err = pgx.ForEachRow(rows, []any{&marks.History, &marks.Known, &part, &next, &token}, func() error {
			if part != nil {
				marks.Partitions[*part] = driver.Mark{Next: *next, Token: *token}
			}
			return nil
		})
		return err
	})
	return marks, pgclaim.Explain(err)
}

// SetMarks implements driver.Marker.
func (in *Inbox) SetMarks(ctx context.Context, of driver.GroupTopic, history string, marks map[int32]driver.Mark) (token string, err error) {
	token = rand.Text()
	parts, nexts, was := make([]int32, 0, len(marks)), make([]int64, 0, len(marks)), make([]string, 0, len(marks))
	for part, m := range marks {
		parts, nexts, was = append(parts, part), append(nexts, m.Next), append(was, m.Token)
	}
	err = in.db.Use(ctx, func(conn *pgx.Conn) error {
		done, err := conn.Exec(ctx, in.store.marks.set, of.Group, of.Topic, of.Source, parts, nexts, was, history, token)
		if err == nil && done.RowsAffected() != int64(len(marks)) {
			err = driver.ErrMarksMoved
		}
		return err
	})
	return token, pgclaim.Explain(err)
}
