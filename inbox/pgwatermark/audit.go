package pgwatermark

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	common "github.com/leat-go/leat/outbox/admin"
)

// entry is an entry of the audit.
type entry struct {
	action  string
	by      admin.By
	topic   string
	details []slog.Attr
}

// args are the parameters of audit.sql.
func (e entry) args(consumer string) ([]any, error) {
	values := make(map[string]any, len(e.details))
	for _, d := range e.details {
		if d.Key != "topic" { // the topic has a column of its own
			values[d.Key] = d.Value.Any()
		}
	}
	details, err := json.Marshal(values)
	return []any{consumer, e.action, e.by.Actor, e.by.Reason, e.topic, string(e.by.Annotate(details))}, err
}

// audit stores e in the transaction of the change.
func (k keys) audit(ctx context.Context, tx pgx.Tx, e entry) error {
	args, err := e.args(k.consumer.Name)
	if err == nil {
		_, err = tx.Exec(ctx, k.statements.audit, args...)
	}
	return err
}

// auditSQL is audit for database/sql.
func (k keys) auditSQL(ctx context.Context, tx *sql.Tx, e entry) error {
	args, err := e.args(k.consumer.Name)
	if err == nil {
		_, err = tx.ExecContext(ctx, k.statements.audit, args...)
	}
	return err
}

// log writes e to the log.
func (e entry) log(ctx context.Context, to *slog.Logger, consumer string) {
	to.LogAttrs(ctx, slog.LevelWarn, "inbox changed by hand", append([]slog.Attr{
		slog.String("change", e.action), slog.String("consumer", consumer),
		slog.String("actor", e.by.Actor), slog.String("reason", e.by.Reason),
	}, e.details...)...)
}

// Skip passes over one message, as if it had been processed. It is for a message that can never
// be processed, after it was stored elsewhere. The message must be the one that its session has
// delivered last. Skip returns the errors of Process. It is audited in the transaction that moves
// the watermark, so it is not audited again if the message was passed before.
//
// A middleware outside the inbox that acknowledges a message which the inbox has
// not processed leaves a gap, at which the partition stops. It has to call Skip
// first.
func (in *Inbox) Skip(msg *message.Message, by admin.By) error {
	if err := common.Complete(&by); err != nil {
		return wrap(in.Consumer(), "skip_message", err)
	}
	at, _ := driver.PositionFrom(msg.Context())
	e := entry{action: "skip_message", by: by, topic: at.Topic, details: []slog.Attr{slog.String("position", describe(at))}}
	outcome, err := in.Process(msg.Context(), msg, func(ctx context.Context) error {
		if tx := pgclaim.SQLTx(ctx); tx != nil {
			return in.auditSQL(ctx, tx, e)
		}
		return in.audit(ctx, pgclaim.Tx(ctx), e)
	})
	if err != nil {
		return err
	}
	e.details = append(e.details, slog.String("outcome", outcome.String()))
	e.log(msg.Context(), in.cfg.Logger, in.Consumer())
	return nil
}
