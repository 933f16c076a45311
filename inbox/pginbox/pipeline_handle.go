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

// HandleQueued is Handle for a handler that queues its statements instead of
// running them. They travel in one round trip with BEGIN, the claim and COMMIT, so
// that a message costs one altogether. In must come from New.
//
// The handler only queues: it is called before the message is claimed, for
// duplicates as well, and perhaps more than once. There is no transaction in its
// context, and MarkRollbackOnly has nothing to mark. To undo a message it returns
// an error, or one of its statements does. Messages for an outbox are queued as
// well (pgoutbox's QueueEnqueue). Where a statement has a callback
// (pgx.QueuedQuery), COMMIT is held back until all callbacks have returned, at
// the price of one more round trip; their errors undo the message. The batch is
// not the handler's to send.
//
// In the one pipeline a message that is not to be run is turned away by an error,
// which the server logs: a duplicate key, SQLSTATE 23505, or a division by zero, 22012,
// if another delivery is at it. After each, the next hundred messages of the inbox are
// claimed in a round trip of their own, where there is no such error, and more of them, up to
// 6,400, if the next error comes soon. So duplicates, which come in swarms, cost few lines.
//
// If the connection is lost before all answers are there, the outcome is unknown
// (inbox.ErrCommitUnknown): COMMIT was on its way. With Fingerprint or KeepReplies,
// and with an Inbox of NewSQL, the result returns an error for every message.
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
			// Whatever came up since, such as the end of the context.
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
	rest      *pgx.Batch // statements that are not sent yet
	err       error      // that undoes the message
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

// finish is the handler that the engine sees, once the message is claimed.
func (q *queued) finish(ctx context.Context) error {
	if q.err == nil && q.rest != nil && q.rest.Len() > 0 {
		q.unit.send(ctx, q.rest)
	}
	return q.err
}

// callbacks reports whether the handler wants to see a result before the commit.
func callbacks(statements *pgx.Batch) bool {
	for _, s := range statements.QueuedQueries {
		if s.Fn != nil {
			return true
		}
	}
	return false
}
