package content_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
)

// consuming is an inbox in memory whose messages are sealed, and opened inside.
type consuming struct {
	store meminbox.Store
	keys  *keys

	mu                sync.Mutex
	effects, enqueued []string
}

func (s *consuming) content(cfg inbox.Config) (sealer, error) {
	c, err := content.New(content.Config{Seal: &content.Seal{Keys: s.keys, ID: cfg.IDFrom, ShowErrors: true}})
	id := cfg.IDFrom
	if id.Find == nil {
		id = inbox.DefaultIDSource()
	}
	return sealer{c, id}, err
}

// sealer seals messages as they stand at the consumer.
type sealer struct {
	c  *content.Content
	id inbox.IDSource
}

// seal makes of msg what it is with a Content on the producer's side, if it is not yet.
func (s sealer) seal(msgs ...*message.Message) {
	for _, msg := range msgs {
		id, err := s.id.Find(msg)
		if err != nil || id == "" || msg.Metadata.Get("content-key") != "" {
			continue
		}
		m, err := s.c.Encode(context.Background(), outbox.Message{
			ID: id, Topic: "t", Type: msg.Metadata.Get("event-type"), Payload: msg.Payload, Headers: map[string]string{
				"content-type": msg.Metadata.Get("content-type"), "event-version": msg.Metadata.Get("event-version"),
			},
		})
		if err != nil {
			panic(err)
		}
		msg.Payload = m[0].Payload
		msg.Metadata.Set("content-key", m[0].Headers["content-key"])
	}
}

func (s *consuming) Open(consumer string, cfg inbox.Config) (inbox.Runner, error) {
	seal, err := s.content(cfg)
	if err != nil {
		return nil, err
	}
	in, err := meminbox.New(consumer, meminbox.Config{Config: cfg, Store: &s.store})
	if err != nil {
		return nil, err
	}
	return opener{in.Processor, seal}, nil
}

// opener is an inbox with a Content inside.
type opener struct {
	*inbox.Processor
	sealer
}

func (o opener) Process(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
	o.seal(msg)
	inside := o.c.Handle(func(ctx context.Context, _ *message.Message) error { return handle(ctx) })
	return o.Processor.Process(ctx, msg, func(ctx context.Context) error { return inside(ctx, msg) })
}

func (o opener) ProcessReply(ctx context.Context, msg *message.Message, handle func(ctx context.Context) ([]byte, error)) ([]byte, inbox.Outcome, error) {
	o.seal(msg)
	return o.Processor.ProcessReply(ctx, msg, func(ctx context.Context) (reply []byte, err error) {
		err = o.c.Handle(func(ctx context.Context, _ *message.Message) error {
			reply, err = handle(ctx)
			return err
		})(ctx, msg)
		return reply, err
	})
}

func (o opener) RunRedrive(ctx context.Context, handle func(ctx context.Context, msg *message.Message) error) error {
	return o.Processor.RunRedrive(ctx, o.c.Handle(handle))
}

func (s *consuming) OpenBatch(consumer string, cfg inbox.Config, batch inbox.BatchConfig) (inboxtest.BatchProcessor, error) {
	in, err := s.Open(consumer, cfg)
	if err != nil {
		return nil, err
	}
	o, _ := in.(opener)
	b, err := inbox.NewBatch(o.Processor, batch)
	return batchOpener{b, o.sealer}, err
}

type batchOpener struct {
	batch *inbox.Batch
	sealer
}

func (b batchOpener) Process(ctx context.Context, msgs []*message.Message, handle func(ctx context.Context, msgs []*message.Message) error) []error {
	b.seal(msgs...)
	return b.batch.Process(ctx, msgs, b.c.Batch(handle))
}

func (b batchOpener) HandleEach(handle func(ctx context.Context, msg *message.Message) error) inbox.BatchFunc {
	each := b.batch.HandleEach(b.c.Handle(handle))
	return func(ctx context.Context, msgs []*message.Message) []error {
		b.seal(msgs...)
		return each(ctx, msgs)
	}
}

func (s *consuming) Write(ctx context.Context, effect string) error {
	return s.onCommit(ctx, &s.effects, effect)
}

func (s *consuming) onCommit(ctx context.Context, to *[]string, what ...string) error {
	if !meminbox.OnCommit(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		*to = append(*to, what...)
	}) {
		return outbox.ErrNotInTransaction
	}
	return nil
}

func (s *consuming) Effects(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.effects), nil
}

func (s *consuming) Recorded(_ context.Context, consumer, id string) (bool, error) {
	return s.store.Recorded(consumer, id), nil
}

func (s *consuming) Outbox() outbox.Enqueuer {
	seal, _ := s.content(inbox.Config{})
	return seal.c.Enqueuer(enqueued{s})
}

type enqueued struct{ *consuming }

func (e enqueued) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	ids := make([]string, len(msgs))
	for i, m := range msgs {
		ids[i] = m.ID
	}
	return e.onCommit(ctx, &e.enqueued, ids...)
}

func (enqueued) Wake() {}

func (s *consuming) Enqueued(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.enqueued), nil
}

func (s *consuming) BreakCommit(bool) {}

func (s *consuming) Admin() (admin.Inbox, error) { return meminbox.NewAdmin(&s.store), nil }

// consumes is what a consuming lacks of the suite.
var consumes = inboxtest.Features{NoForget: true, NoSharedLocks: true, NoBreakCommit: true, NoMarks: true}

// unsuitable are checks whose messages are not those of a Content, each for the reason named.
var unsuitable = map[string]string{
	"I10_MismatchIsParked":          "a message that is sealed twice has two payloads (C29)",
	"I10_MismatchIsNotAcked":        "the same",
	"I11_MessageWithoutIDIsParked":  "a seal needs an id",
	"N4_HostileMessagesCanBeParked": "it compares what is redriven with what is stored",
	"N1_TwoFunctionsOfBatches":      "Batch returns functions of one line of code",
}

func runInbox(t *testing.T, checks []inboxtest.Check) {
	t.Helper()
	for _, check := range checks {
		if unsuitable[check.Name] != "" {
			continue
		}
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, check.Run(t.Context(), &consuming{keys: newKeys()}))
		})
	}
}

// TestInbox: the promises of an inbox hold with a Content inside.
func TestInbox(t *testing.T) {
	t.Parallel()
	runInbox(t, inboxtest.Checks(consumes))
}

func TestInboxFailures(t *testing.T) {
	t.Parallel()
	runInbox(t, inboxtest.FailureChecks(consumes))
}

func TestInboxBatch(t *testing.T) {
	t.Parallel()
	runInbox(t, inboxtest.BatchChecks(consumes))
}
