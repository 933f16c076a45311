package inbox

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/onehandler"
	"github.com/leat-go/leat/outbox"
)

// BatchFunc processes messages and returns one error each, at the same index,
// which is nil exactly if the message can be acknowledged.
type BatchFunc func(ctx context.Context, msgs []*message.Message) []error

// Batch runs a handler of several messages. Each message takes effect once for the consumer, at
// the price of one transaction for many messages. The results are those of Processor.Process for
// the messages one after the other. It is safe for concurrent use.
type Batch struct {
	p        *Processor
	store    driver.BatchStore
	attempts driver.BatchAttempter // nil if attempts are not counted
	cfg      BatchConfig
	lanes    chan struct{}
}

// NewBatch returns a Batch for the consumer of p. The Config of p applies to it as well: ids and
// keys are found, Busy messages delayed, conflicts retried, failures handled and hooks called in
// the same way. Batches and single messages of a consumer can be processed side by side.
//
// The Store of p must be a driver.BatchStore, and a driver.BatchAttempter if OnFailure counts
// attempts. Fingerprint and KeepReplies must not be set: batches keep no notes. Errors wrap
// outbox.ErrInvalidConfig.
func NewBatch(p *Processor, cfg BatchConfig) (*Batch, error) {
	if p == nil {
		return nil, outbox.ConfigError("p", nil, "must not be nil")
	}
	store, ok := p.store.(driver.BatchStore)
	if !ok {
		return nil, outbox.ConfigError("p", fmt.Sprintf("%T", p.store), "has a store that claims no batches")
	}
	var attempts driver.BatchAttempter
	if p.attempts != nil {
		if attempts, ok = p.store.(driver.BatchAttempter); !ok {
			return nil, outbox.ConfigError("OnFailure.Action", p.cfg.OnFailure.Action, fmt.Sprintf("needs a store that counts attempts of batches, and %T does not", p.store))
		}
	}
	if p.keeper != nil {
		return nil, outbox.ConfigError("Fingerprint, KeepReplies", "set", "are not for batches")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Batch{p: p, store: store, attempts: attempts, cfg: cfg, lanes: make(chan struct{}, cfg.Lanes)}, nil
}

// Consumer returns the consumer's name.
func (b *Batch) Consumer() string {
	return b.p.consumer
}

// Handle returns Process with handle, which runs several messages in one transaction. Its ctx and
// the context of each message carry it. The messages are the handler's own: Ack does nothing, and
// a message that is nacked fails. They are in the order of delivery, without copies and without
// messages that were processed before. An error undoes them all.
//
// Handle is called again with fewer messages when it fails, down to one, and with the same ones
// when the transaction conflicts with another. So it must keep nothing outside the transaction,
// and the effect of a message must not depend on the others of its batch.
//
// A consumer has one handler of batches, as it has one of single messages: if Handle or
// HandleEach is given another function, all messages of both fail with ErrTwoHandlers.
func (b *Batch) Handle(handle func(ctx context.Context, msgs []*message.Message) error) BatchFunc {
	name := onehandler.BatchFunction(handle)
	return func(ctx context.Context, msgs []*message.Message) []error {
		c := b.newCall(handle, len(msgs))
		c.handler = onehandler.From(ctx, b, name)
		return c.all(ctx, msgs)
	}
}

// Process runs handle for those of msgs that were not processed before, at most MaxBatch in a
// transaction. It returns one error per message, at the same index, which is nil exactly if the
// message can be acknowledged: its transaction has committed, now or before. Process
// acknowledges nothing itself.
//
// Messages of one key (Config.KeyFunc) take effect in the order of msgs. A message that is not
// done, for whatever reason, holds back the later ones of its key (ErrHeldBack). A message that
// msgs has twice is run once, and both get the same error.
//
// If handle fails or panics, the transaction is rolled back and the messages are run in two
// halves, and so on; or without the one that a MessageError names. A message that is left alone
// goes through Processor.Process, which handles the failure of this message only. A panic of the
// handler is recovered and becomes the error of the message, with the stack.
//
// If a commit gets no answer, all messages of its transaction get ErrCommitUnknown; when they are
// delivered again each is a duplicate or is run, whichever is right. When ctx ends, nothing more
// is committed.
func (b *Batch) Process(ctx context.Context, msgs []*message.Message, handle func(ctx context.Context, msgs []*message.Message) error) []error {
	return b.newCall(handle, len(msgs)).all(ctx, msgs)
}
