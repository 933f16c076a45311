package sqlinbox

import (
	"context"
	"database/sql"
	"slices"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/parkjson"
	"github.com/leat-go/leat/internal/erase"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/sqlstore"
	outboxdriver "github.com/leat-go/leat/outbox/driver"
)

var _ outboxdriver.Eraser = (*operators)(nil)

const (
	// eraseAtOnce is the most ids of one statement, and the most rows that one transaction
	// changes.
	eraseAtOnce = 500
)

// erasable is a parked message to delete.
type erasable struct {
	no, number int64
	consumer   string
	id         string
	key        driver.Key
}

// noted is a row that holds more about a message than its id.
type noted struct {
	number int64
	id     []byte // in stored form
}

// Erase implements outboxdriver.Eraser, for all consumers. The ids of messages stay, so that
// redeliveries are duplicates.
func (a *operators) Erase(ctx context.Context, r outboxdriver.EraseRequest) (found outboxdriver.Erased, err error) {
	if err := erase.Check(&r); err != nil {
		return found, err
	}
	parked, err := a.findParked(ctx, &r)
	if err != nil {
		return found, err
	}
	for _, p := range parked {
		erase.Add(&found, erase.Parked, p.id, p.key.Topic)
	}
	all := erase.With(r, found.IDs)
	notes, err1 := a.findNoted(ctx, all.IDs, "erase_notes_find")
	attempts, err2 := a.findNoted(ctx, all.IDs, "erase_attempts_find", []byte(noErrors))
	entries, err3 := a.findAudited(ctx, &all)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return found, err
		}
	}
	erase.Count(&found, erase.Notes, len(notes))
	erase.Count(&found, erase.Attempts, len(attempts))
	erase.Count(&found, erase.Audit, len(entries))
	if r.DryRun {
		return found, nil
	}
	return found, a.Describe(a.eraseFound(ctx, &all, parked, notes, attempts, entries))
}

func (a *operators) eraseFound(ctx context.Context, r *outboxdriver.EraseRequest, parked []erasable, notes, attempts []noted, entries []int64) error {
	if err := a.eraseAudited(ctx, entries); err != nil {
		return err
	}
	by := admin.By{Actor: r.Actor, Reason: r.Reason}
	for _, p := range parked {
		if err := a.eraseParked(ctx, p, by); err != nil {
			return err
		}
	}
	texts := make(map[string]string, len(r.IDs))
	for _, id := range r.IDs {
		stored, _ := ids.Map(id)
		texts[string(stored[:])] = id
	}
	about := func(n noted, place string) audited {
		return audited{number: n.number, action: "erase", by: by, id: texts[string(n.id)], details: []byte(`{"from": "` + place + `"}`)}
	}
	err := eachPart(ctx, a, notes, func(tx *sql.Tx, n noted) error {
		if _, err := a.Exec(ctx, tx, "erase_note", n.number, n.id); err != nil {
			return err
		}
		_, err := a.note(ctx, tx, about(n, erase.Notes))
		return err
	})
	if err != nil {
		return err
	}
	err = eachPart(ctx, a, attempts, func(tx *sql.Tx, n noted) error {
		if _, err := a.Exec(ctx, tx, "attempt_fail", []byte(noErrors), n.number, n.id); err != nil {
			return err
		}
		_, err := a.note(ctx, tx, about(n, erase.Attempts))
		return err
	})
	if err != nil {
		return err
	}
	if entries, err = a.findAudited(ctx, r); err != nil {
		return err
	}
	return a.eraseAudited(ctx, entries)
}

// eraseParked deletes a message, in any state, under the lock of its key. A delivery that is
// running the message has its row locked, and eraseParked waits for it.
func (a *operators) eraseParked(ctx context.Context, p erasable, by admin.By) error {
	k := a.key(p.consumer, p.key)
	return a.Change(ctx, func(tx *sql.Tx) error {
		if err := a.lockKey(ctx, tx, k); err != nil {
			return err
		}
		n, err := a.Exec(ctx, tx, "parked_delete", p.no)
		if err != nil {
			return err
		}
		if n > 0 {
			_, err = a.note(ctx, tx, audited{
				number: p.number, action: "erase", by: by, no: p.no, id: p.id, key: driver.Key{Topic: p.key.Topic}, details: []byte(`{"from": "parked"}`),
			})
		}
		if err != nil {
			return err
		}
		return a.promote(ctx, tx, p.number, k)
	})
}

// eachPart changes rows in parts, each in one transaction.
func eachPart[T any](ctx context.Context, a *operators, rows []T, change func(tx *sql.Tx, row T) error) error {
	for part := range slices.Chunk(rows, eraseAtOnce) {
		err := a.Change(ctx, func(tx *sql.Tx) error {
			for _, row := range part {
				if err := change(tx, row); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mayMatch returns the condition for rows that may match r, by the column of their id. r itself
// then decides which of them match.
func mayMatch(r *outboxdriver.EraseRequest, prefix string) (text string, args []any) {
	if r.Header != "" || len(r.IDs) > eraseAtOnce {
		return "1 = 1", nil
	}
	text = "1 = 0"
	if r.Key != "" {
		text, args = text+" OR "+prefix+"msg_key = ?", append(args, []byte(r.Key))
	}
	for _, id := range r.IDs {
		text, args = text+" OR "+prefix+"message_id = ?", append(args, []byte(id))
	}
	return text, args
}

func (a *operators) findParked(ctx context.Context, r *outboxdriver.EraseRequest) (all []erasable, err error) {
	text, args := mayMatch(r, "p.")
	err = a.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		var p erasable
		var consumer, id, topic, key, metadata, raw []byte
		if err := scan(&p.no, &p.number, &consumer, &id, &topic, &key, &metadata, &raw); err != nil {
			return err
		}
		p.consumer, p.id, p.key = string(consumer), string(id), driver.Key{Topic: string(topic), Name: string(key)}
		headers := func() map[string]string {
			said, _, _ := parkjson.DecodeMetadata(string(metadata), nil)
			return said
		}
		if erase.Matches(r, p.id, p.key.Topic, p.key.Name, headers) {
			all = append(all, p)
		}
		return nil
	}, a.SQL.With("erase_find", text), args...)
	return all, err
}

func (a *operators) findNoted(ctx context.Context, of []string, statement string, more ...any) (all []noted, err error) {
	for part := range slices.Chunk(of, eraseAtOnce) {
		var args []any
		for _, id := range part {
			stored, _ := ids.Map(id)
			args = append(args, stored[:])
		}
		err := a.QueryEach(ctx, func(scan sqlstore.Scanner) error {
			var n noted
			err := scan(&n.number, &n.id)
			all = append(all, n)
			return err
		}, a.SQL.List(statement, len(part)), append(args, more...)...)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// findAudited returns the entries of the audit that hold data about the messages that r selects,
// beyond who did what to which id.
func (a *operators) findAudited(ctx context.Context, r *outboxdriver.EraseRequest) (all []int64, err error) {
	text, args := mayMatch(r, "")
	err = a.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		var no int64
		var id, topic, key, details, reason []byte
		err := scan(&no, &id, &topic, &key, &details, &reason)
		more := len(key) > 0 || len(details) > 0 || string(reason) != erase.Reason
		if err == nil && more && erase.Matches(r, string(id), string(topic), string(key), nil) {
			all = append(all, no)
		}
		return err
	}, a.SQL.With("erase_audit_find", text), args...)
	return all, err
}

func (a *operators) eraseAudited(ctx context.Context, nos []int64) error {
	return eachPart(ctx, a, nos, func(tx *sql.Tx, no int64) error {
		_, err := a.Exec(ctx, tx, "erase_audit", []byte{}, []byte(erase.Reason), no)
		return err
	})
}
