package pgheld

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
	"github.com/leat-go/leat/internal/topics"
)

// By says who asks for a change, and why. Both are required.
type By struct {
	Actor, Reason string
}

// Check returns ErrInvalidRequest where actor or reason is missing or cannot be
// stored.
func (b By) Check() error {
	if strings.TrimSpace(b.Actor) == "" {
		return fmt.Errorf("%w: Actor is empty", ErrInvalidRequest)
	}
	if strings.TrimSpace(b.Reason) == "" {
		return fmt.Errorf("%w: Reason is empty", ErrInvalidRequest)
	}
	return checkTexts(map[string]string{"Actor": b.Actor, "Reason": b.Reason})
}

func checkTexts(texts map[string]string) error {
	for field, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%w: %s = %.200q: must be valid UTF-8 without NUL", ErrInvalidRequest, field, text)
		}
	}
	return nil
}

// Selection selects records that were set aside: those of a key, those with an id,
// or those that pass a filter.
type Selection struct {
	Topic, Key string
	ID         string
	// Filter: a pattern of topics, the kind of the last error, set aside before.
	Topics string
	Kind   string
	Before time.Time
	// Dead selects among the dead records.
	Dead bool
	// Limit bounds the records that one call changes.
	Limit int
}

// Check returns ErrInvalidRequest where s does not select in exactly one way.
func (s Selection) Check() error {
	ways := 0
	for _, way := range []bool{s.Topic != "" || s.Key != "", s.ID != "", s.filters()} {
		if way {
			ways++
		}
	}
	switch {
	case ways != 1:
		return fmt.Errorf("%w: select by Topic and Key, by ID, or by Topics, Kind and Before", ErrInvalidRequest)
	case (s.Topic == "") != (s.Key == ""):
		return fmt.Errorf("%w: Topic = %.200q, Key = %.200q: a key needs both", ErrInvalidRequest, s.Topic, s.Key)
	case s.Limit < 1 || s.Limit > 100_000:
		return fmt.Errorf("%w: Limit = %d: must be 1 to 100000", ErrInvalidRequest, s.Limit)
	}
	return checkTexts(map[string]string{"Topic": s.Topic, "Key": s.Key, "ID": s.ID, "Topics": s.Topics, "Kind": s.Kind})
}

func (s Selection) filters() bool {
	return s.Topics != "" || s.Kind != "" || !s.Before.IsZero()
}

// String says what is selected.
func (s Selection) String() string {
	what := "parked"
	if s.Dead {
		what = "dead"
	}
	switch {
	case s.ID != "":
		return fmt.Sprintf("%s record %.200q", what, s.ID)
	case s.Key != "":
		return fmt.Sprintf("%s records of key %.200q of topic %.200q", what, s.Key, s.Topic)
	default:
		return fmt.Sprintf("%s records of topics %.200q, kind %.200q, before %s", what, s.Topics, s.Kind, s.Before)
	}
}

// keyArgs and filterArgs are parameters, NULL where s does not select so.
func (s Selection) keyArgs() []any {
	if s.Key == "" {
		return []any{(*string)(nil), (*string)(nil)}
	}
	return []any{s.Topic, s.Key}
}

func (s Selection) idArgs() []any {
	if s.ID == "" {
		return []any{(*string)(nil), (*string)(nil)}
	}
	id, _ := ids.Map(s.ID)
	return []any{ids.Text(id), s.ID}
}

func (s Selection) filterArgs() []any {
	var before *time.Time
	if !s.Before.IsZero() {
		before = &s.Before
	}
	return []any{like(s.Topics), orNull(s.Kind), before}
}

// like returns pattern as LIKE has it, or nil where it is empty.
func like(pattern string) *string {
	return orNull(topics.Like(pattern))
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Changed is what a request of people has changed.
type Changed struct {
	Count int
	IDs   []string
}

// Locked runs work in a transaction, in turn with the relays of group, and durable
// when it returns.
func (s *Statements) Locked(ctx context.Context, db pgwindow.Beginner, group string, work func(tx pgx.Tx) error) error {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, db, opts, func(tx pgx.Tx) error {
		for _, set := range []string{"SET LOCAL synchronous_commit = on", "SET LOCAL lock_timeout = '10s'"} {
			if _, err := tx.Exec(ctx, set); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, s.lock, s.lockOf(group)); err != nil {
			return err
		}
		return work(tx)
	})
}

// Note writes an entry of the audit that concerns all of group. details is JSON.
func (s *Statements) Note(ctx context.Context, tx pgx.Tx, group, action string, by By, details string) error {
	_, err := tx.Exec(ctx, s.note, action, by.Actor, by.Reason, group, details)
	return err
}
