package heldqueue

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Reader reads the rows of one group. Rows and slices that it returns belong to the caller.
type Reader interface {
	// Now is the store's clock, in UTC. It does not move back within a transaction.
	Now() time.Time

	// Heads returns, for each of keys, the first row of its line and every later row that does
	// not wait. Each key has a Key, and none occurs twice.
	Heads(ctx context.Context, keys []driver.Key) ([]Row, error)

	// Behind returns, for each of rows, all of which are ordered, the rows that follow in its
	// line: up to the next row that does not wait, and at most limit per row.
	Behind(ctx context.Context, rows []Row, limit int) ([]Row, error)

	// Due returns rows in state Retry whose time has come, those due longest first.
	Due(ctx context.Context, q DueQuery) ([]Row, error)

	// Select returns the rows that q selects.
	Select(ctx context.Context, q Query) ([]Row, error)

	// Count returns the number of rows of a slot that are not dead.
	Count(ctx context.Context, share Share) (int, error)

	// Records returns the records of rows, ascending in Seq, as they were inserted. Those that no
	// longer exist are left out.
	Records(ctx context.Context, rows []Row) ([]outbox.Record, error)
}

// Tx is a transaction on one group. It takes turns with all others that write rows of the group:
// it begins once they have ended, and sees what they have written.
type Tx interface {
	Reader

	// Insert stores new rows; records[i] is the record of rows[i]. The caller may reuse both
	// afterwards.
	Insert(ctx context.Context, rows []Row, records []*outbox.Record) error

	// Update stores State, Next, Attempts, Errors, Reason and Since of existing rows.
	Update(ctx context.Context, rows []Row) error

	// Delete deletes rows with their records.
	Delete(ctx context.Context, rows []Row) error

	// Note adds entries to the audit. The store sets No, At and Group.
	Note(ctx context.Context, entries []admin.AuditEntry) error
}

// Store begins transactions for operators' requests.
type Store interface {
	// Change runs work in a transaction, and commits it if work returns nil; otherwise nothing
	// changes. The changes are durable when it returns.
	Change(ctx context.Context, group string, work func(tx Tx) error) error

	// Look runs work on the stored state.
	Look(ctx context.Context, group string, work func(r Reader) error) error
}

// Share is a slot's part of a group: the records whose shard is Slot modulo Slots. The zero value
// is the whole group.
type Share struct {
	Slots, Slot int
}

// Has reports whether a record with this shard is in the share.
func (s Share) Has(shard int16) bool {
	return s.Slots <= 1 || int(shard)%s.Slots == s.Slot
}

// DueQuery selects rows that are due.
type DueQuery struct {
	// By is the time up to which rows are due.
	By time.Time
	// Share is the slot's part.
	Share Share
	// Except are topics to leave out.
	Except []string
	// Limit bounds the rows, at least 1.
	Limit int
}

// Query selects rows by all of its fields that are set.
type Query struct {
	// In are the states. Required.
	In []State
	// Seqs are the numbers.
	Seqs []int64
	// ID is the record's id.
	ID string
	// Line is the record's topic and key, if Line.Key is set.
	Line driver.Key
	// Key is the record's key, of any topic.
	Key string
	// Topics is a pattern of topics, in which * stands for any run of characters.
	Topics string
	// Kind is the kind of the last error.
	Kind string
	// Fingerprint is the fingerprint of the last error, or of the reason if there was none, as
	// admin.Fingerprint returns it.
	Fingerprint string
	// Before is the time before which the row's Since is.
	Before time.Time
	// Share is the slot's part.
	Share Share
	// From is the least Seq.
	From int64
	// Limit bounds the rows. 0 means unbounded.
	Limit int
	// Last returns the last rows, descending in Seq, instead of the first, ascending.
	Last bool
}

// Matches reports whether row is selected, as far as the row itself shows it: the store must
// check Seqs, Share and Limit. A store may use it for conditions that its database cannot
// express.
func (q *Query) Matches(row *Row) bool {
	switch {
	case !slices.Contains(q.In, row.State), row.Seq < q.From, q.Line.Key != "" && q.Line != row.Key:
		return false
	case q.ID != "" && q.ID != row.ID, q.Key != "" && q.Key != row.Key.Key:
		return false
	case q.Topics != "" && !topics.Match(q.Topics, row.Key.Topic):
		return false
	case q.Fingerprint != "" && q.Fingerprint != row.fingerprint():
		return false
	case q.Kind != "" && (len(row.Errors) == 0 || row.Errors[len(row.Errors)-1].Kind != q.Kind):
		return false
	}
	return q.Before.IsZero() || row.Since.Before(q.Before)
}
