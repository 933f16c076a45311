package wmoutbox

import (
	"context"
	stdsql "database/sql"
	"fmt"

	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"

	"github.com/leat-go/leat/outbox"
)

var _ sql.SchemaAdapter = (*SchemaAdapter)(nil)

// Inserter makes the statement that enqueues messages, for a caller that runs it.
// *pgoutbox.Outbox and *sqloutbox.Outbox implement it, safe for concurrent use.
type Inserter interface {
	// InsertStatement checks msgs, gives them their ids and trace headers, and
	// returns one statement that stores all of them, with its arguments, or fails,
	// also in another database than the outbox's.
	// It returns an error that wraps outbox.ErrInvalidMessage if a message
	// cannot be stored, or if they do not fit one statement.
	InsertStatement(ctx context.Context, msgs []outbox.Message) (query string, args []any, err error)
}

// SchemaAdapter makes watermill-sql's Publisher write an outbox's table, one row
// a message and no envelope, so that the message published by the relay is the
// one that was given to Publish:
//
//	publisher, err := sql.NewPublisher(sql.TxFromPgx(tx), sql.PublisherConfig{
//		SchemaAdapter: adapter,
//	}, logger)
//
// Give that publisher a transaction: sql.TxFromPgx, or sql.TxFromStdSQL, for a
// pgoutbox.Outbox on pgx's stdlib driver. The adapter never sees the handle, so it cannot
// refuse a pool, on which the rows would commit on their own. It does refuse
// AutoInitializeSchema, which watermill-sql uses for such handles only.
//
// For the same reason it cannot roll the transaction back if Publish fails. On PostgreSQL
// the transaction has failed then. On MySQL and MariaDB it goes on, and whoever commits it
// commits the business rows without their messages: return the error. Publisher, which
// finds the transaction in the context, does roll back.
//
// In a transaction of another database than the outbox's, Publish fails.
//
// watermill-sql itself accepts topics of the characters A–Z a–z 0–9 - $ : . _
// only. A SchemaAdapter may be used concurrently and by any number of
// publishers.
// See design 3.6.
type SchemaAdapter struct {
	ob  Inserter
	key outbox.KeyFunc
}

// NewSchemaAdapter returns an adapter that writes ob's table. It returns an
// error that wraps outbox.ErrInvalidConfig if ob is nil.
func NewSchemaAdapter(ob Inserter, cfg Config) (*SchemaAdapter, error) {
	if ob == nil {
		return nil, outbox.ConfigError("ob", nil, "must be an outbox")
	}
	return &SchemaAdapter{ob: ob, key: cfg.withDefaults().Key}, nil
}

// InsertQuery returns the statement that enqueues the messages; if there are
// none, one that does nothing. The trace of the first message's context is
// stored with all. It returns an error that wraps outbox.ErrInvalidMessage if
// a message cannot be stored.
func (a *SchemaAdapter) InsertQuery(params sql.InsertQueryParams) (sql.Query, error) {
	if len(params.Msgs) == 0 {
		return sql.Query{Query: "SELECT 1"}, nil
	}
	msgs, err := convert(params.Topic, params.Msgs, a.key)
	if err != nil {
		return sql.Query{}, err
	}
	query, args, err := a.ob.InsertStatement(params.Msgs[0].Context(), msgs)
	if err != nil {
		return sql.Query{}, fmt.Errorf("enqueue %s for topic %.200q: %w", describe(params.Msgs), params.Topic, err)
	}
	return sql.Query{Query: query, Args: args}, nil
}

// SchemaInitializingQueries returns an error that wraps
// outbox.ErrNotInTransaction. watermill-sql asks for these queries only outside
// a transaction: for a publisher with AutoInitializeSchema, and for a subscriber.
func (a *SchemaAdapter) SchemaInitializingQueries(params sql.SchemaInitializingQueriesParams) ([]sql.Query, error) {
	return nil, fmt.Errorf(
		"topic %q: %w: %w: create the tables with the outbox's Migrate, publish without AutoInitializeSchema, subscribe to the broker",
		params.Topic, errPublishOnly, outbox.ErrNotInTransaction)
}

// SelectQuery returns an error: a relay reads the messages.
func (a *SchemaAdapter) SelectQuery(params sql.SelectQueryParams) (sql.Query, error) {
	return sql.Query{}, readRefused("topic " + params.Topic)
}

// UnmarshalMessage returns an error, as SelectQuery does.
func (a *SchemaAdapter) UnmarshalMessage(sql.UnmarshalMessageParams) (sql.Row, error) {
	return sql.Row{}, readRefused("row")
}

// SubscribeIsolationLevel returns the database's default: nothing is ever read
// through this adapter.
func (a *SchemaAdapter) SubscribeIsolationLevel() stdsql.IsolationLevel {
	return stdsql.LevelDefault
}

func readRefused(what string) error {
	return fmt.Errorf("%s: %w: the relay reads the outbox, subscribe to the broker", what, errPublishOnly)
}
