package pginbox

import (
	"cmp"
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/lent"
	"github.com/leat-go/leat/internal/onehandler"
	"github.com/leat-go/leat/outbox"
)

// HandleQueued is Handle for a handler that queues its statements instead of running them. They
// are sent in one round trip with BEGIN, the claim and COMMIT, so that a message costs a single
// round trip. In must come from New.
//
// The handler only queues: it is called before the message is claimed, for duplicates as well,
// and perhaps more than once. Its context carries no transaction, and MarkRollbackOnly has no
// effect. A message is undone if the handler returns an error, or one of its statements fails.
// Messages for an outbox are queued as well (pgoutbox's QueueEnqueue). If a statement has a
// callback (pgx.QueuedQuery), COMMIT is held back until all callbacks have returned, which costs
// one more round trip; their errors undo the message. The handler must not send the batch.
//
// In the single pipeline a message that must not run is refused by an error, which the server
// logs: a duplicate key, SQLSTATE 23505, or, if another delivery is in progress, a division by
// zero, 22012. After such an error the next hundred messages of the inbox are claimed in a round
// trip of their own, which needs no error; if the next error comes soon, more of them, up to
// 6,400. So duplicates, which tend to come in bursts, cost few lines in the log.
//
// If the connection is lost before all answers are there, the outcome is unknown
// (inbox.ErrCommitUnknown): COMMIT was already sent. With Fingerprint or KeepReplies, and with an
// Inbox of NewSQL, the result returns an error for every message.
func HandleQueued(
	in *Inbox, handle func(ctx context.Context, queue *pgx.Batch, msg *message.Message) error,
) message.NoPublishHandlerFunc {
	p, err := newPipeline(in)
	name := onehandler.Function(handle)
	return func(msg *message.Message) error {
		if err != nil {
			return err
		}
		handler := message.HandlerNameFromCtx(msg.Context())
		handler = cmp.Or(handler, name)
		if err := in.OneHandler(handler); err != nil {
			return err
		}
		q := &queued{msg: msg, handle: handle, own: lent.Of(msg)}
		defer func() { q.own.Settle(false) }()
		_, err := p.Process(context.WithValue(msg.Context(), queuedKey{}, q), msg, q.finish)
		if q.committed {
			// Ignore later errors, such as the end of the context.
			err = nil
		}
		q.own.Settle(err == nil)
		return err
	}
}

// newPipeline returns a Processor like in's, on a pipeStore.
func newPipeline(in *Inbox) (*inbox.Processor, error) {
	pool, ok := in.store.handle.(*pgclaim.Pool)
	if !ok {
		return nil, pgclaim.ErrNoTx
	}
	if in.cfg.Fingerprint != nil || in.cfg.KeepReplies {
		return nil, outbox.ConfigError("Fingerprint, KeepReplies", "set", "are not for HandleQueued, which sends COMMIT before there is anything to keep")
	}
	return inbox.New(&pipeStore{store: in.store, pool: pool}, in.Consumer(), in.cfg.Config)
}

type queuedKey struct{}

// queued is a delivery on its way through a pipeline.
type queued struct {
	msg    *message.Message
	handle func(ctx context.Context, queue *pgx.Batch, msg *message.Message) error
	own    lent.Message

	unit      *pipeUnit
	rest      *pgx.Batch // statements not sent yet
	err       error      // undoes the message
	committed bool
}

// call asks the handler for its statements.
func (q *queued) call(ctx context.Context) *pgx.Batch {
	statements := &pgx.Batch{}
	*q = queued{msg: q.msg, handle: q.handle, own: q.own}
	q.err = q.own.To(ctx, func(msg *message.Message) error { return q.handle(ctx, statements, msg) })
	select {
	case <-q.msg.Acked():
		q.err = inbox.ErrAckedBeforeCommit
	case <-q.msg.Nacked():
		q.err = inbox.ErrAckedBeforeCommit
	default:
	}
	return statements
}

// finish is the handler that the engine runs once the message is claimed.
func (q *queued) finish(ctx context.Context) error {
	if q.err == nil && q.rest != nil && q.rest.Len() > 0 {
		q.unit.send(ctx, q.rest)
	}
	return q.err
}

// callbacks reports whether a statement has a callback, which must run before the commit.
func callbacks(statements *pgx.Batch) bool {
	for _, s := range statements.QueuedQueries {
		if s.Fn != nil {
			return true
		}
	}
	return false
}
