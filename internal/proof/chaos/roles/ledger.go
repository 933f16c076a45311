package roles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// errPoison is the error of the handler for messages that always fail.
var errPoison = errors.New("the message is poison")

// receipt is the ledger's event about a transfer.
type receipt struct {
	Transfer string `json:"transfer"`
	Account  string `json:"account"`
}

// ledger books each transfer once. The transfer's rows, the inbox's record of the message, and the receipt
// are written in one transaction.
func (p *process) ledger(ctx context.Context) error {
	s, err := p.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	in, err := s.inbox(inboxEyes{p})
	if err != nil {
		return err
	}
	pub, err := wmoutbox.NewPublisher(s, wmoutbox.Config{})
	if err != nil {
		return err
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in, Outbox: s})
	if err != nil {
		return err
	}
	var marks driver.Marker = in
	if p.Sabotage == NoMarks {
		marks = nil
	}
	sub, err := p.subscriber(Ledger, marks)
	if err != nil {
		return err
	}
	router, err := p.router()
	if err != nil {
		return errors.Join(err, sub.Close())
	}
	round, err := s.forgets()
	if err != nil {
		return errors.Join(err, router.Close())
	}
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group.Go(func() { p.maintain(ctx, round) })
	router.AddMiddleware(p.guard(once, s), p.opened)                                 //nolint:contextcheck // of Watermill, whose handlers have it in the message
	router.AddHandler("book", TopicTransfers, sub, TopicReceipts, pub, p.booking(s)) //nolint:contextcheck // the same
	return router.Run(ctx)
}

// guard returns the inbox's middleware, or what replaces it in a sabotage.
func (p *process) guard(once message.HandlerMiddleware, s store) message.HandlerMiddleware {
	switch p.Sabotage {
	case AckBeforeCommit:
		return ackFirst(once)
	case NoInbox:
		return p.withoutInbox(s)
	default:
		return once
	}
}

// booking returns the handler that books transfers.
func (p *process) booking(s store) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) { return p.book(msg.Context(), msg, s) }
}

func (p *process) book(ctx context.Context, msg *message.Message, s store) ([]*message.Message, error) {
	p.note(history.Line{Type: history.Delivered, ID: msg.UUID, Consumer: Ledger})
	if err := p.slow(ctx); err != nil {
		return nil, err
	}
	e, err := p.event(msg)
	if err != nil {
		return nil, fmt.Errorf("decode transfer %s: %w", msg.UUID, err)
	}
	if e.Kind == kindPoison || e.Kind == KindLongIDPoison {
		return nil, errPoison
	}
	child := inbox.ChildID(msg.UUID, Ledger, "receipt")
	if err := s.book(ctx, e, child); err != nil {
		return nil, fmt.Errorf("book transfer %s: %w", e.ID, err)
	}
	payload, err := json.Marshal(receipt{Transfer: e.ID, Account: e.From})
	if err != nil {
		return nil, fmt.Errorf("encode receipt of %s: %w", e.ID, err)
	}
	out := message.NewMessage(child, payload)
	out.Metadata.Set(outbox.HeaderKey, e.From)
	return []*message.Message{out}, nil
}

// inboxEyes report how deliveries end.
type inboxEyes struct{ *process }

// OnInboxDelivery implements inbox.DeliveryHook.
func (e inboxEyes) OnInboxDelivery(ctx context.Context, d inbox.DeliveryEvent) {
	switch d.Outcome {
	case inbox.OutcomeCommitted:
		e.effects.Add(1)
		e.note(history.Line{Type: history.Effect, ID: d.ID, Consumer: Ledger})
		e.agedBy(ctx)
	case inbox.OutcomeDuplicate:
		e.repeats.Add(1)
		e.watch.seen("redelivery, recognised")
	case inbox.OutcomeUnknown:
		e.watch.seen("commit without an answer, redelivery")
	case inbox.OutcomePanicked:
		e.watch.seen("panic, rollback and redelivery")
	case inbox.OutcomeBusy:
		e.watch.seen("busy elsewhere, redelivery")
	case inbox.OutcomeFailed:
		if !errors.Is(d.Err, errPoison) {
			e.watch.seen("rollback and redelivery")
		}
	case inbox.OutcomeParked, inbox.OutcomeDeadLettered, inbox.OutcomeGivenUp:
	}
}

// agedBy records the age of the event that is delivered with ctx.
func (p *process) agedBy(ctx context.Context) {
	r, ok := kafkasource.RecordFrom(ctx)
	if !ok {
		return
	}
	for _, h := range r.Headers {
		if h.Key != outbox.HeaderEventTime {
			continue
		}
		if at, err := time.Parse(time.RFC3339Nano, string(h.Value)); err == nil {
			p.aged(at.UnixMicro())
		}
	}
}

// CauseOf returns the id of the transfer to which a receipt belongs.
func CauseOf(payload []byte) (string, error) {
	var r receipt
	if err := json.Unmarshal(payload, &r); err != nil {
		return "", fmt.Errorf("decode receipt: %w", err)
	}
	return r.Transfer, nil
}
