package content

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// Middleware opens each message for h. It belongs inside the inbox, after it in AddMiddleware,
// and around the Handler of middleware.RedriveConfig. When h has returned, payload and metadata
// are restored, and changes by h are lost. If h returns the message that it got, the caller gets
// a copy, which is still open.
func (c *Content) Middleware(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) (produced []*message.Message, err error) {
		err = c.with(msg.Context(), msg, func() error {
			produced, err = h(msg)
			if i := slices.Index(produced, msg); i >= 0 {
				produced = slices.Clone(produced)
				for ; i < len(produced); i++ {
					if produced[i] == msg {
						produced[i] = msg.CopyWithContext()
					}
				}
			}
			return err
		})
		return produced, err
	}
}

// Handle is Middleware for handlers without a router: those of an inbox's Handle, HandleEach and
// RunRedrive. Call it inside of them:
//
//	in.Handle(c.Handle(handle))
func (c *Content) Handle(h func(ctx context.Context, msg *message.Message) error) func(ctx context.Context, msg *message.Message) error {
	return func(ctx context.Context, msg *message.Message) error {
		return c.with(ctx, msg, func() error { return h(ctx, msg) })
	}
}

// Batch is Middleware for a handler of several messages, such as that of inbox.Batch. All
// messages of a call are open at the same time. The index in an inbox.MessageError that h returns
// is converted from h's slice to that of the caller.
func (c *Content) Batch(h func(ctx context.Context, msgs []*message.Message) error) func(ctx context.Context, msgs []*message.Message) error {
	return func(ctx context.Context, msgs []*message.Message) error {
		open, places := make([]*message.Message, 0, len(msgs)), make([]int, 0, len(msgs))
		backs := make([]func(), 0, len(msgs))
		defer func() {
			for _, back := range backs {
				back()
			}
		}()
		for i, msg := range msgs {
			back, err := c.open(ctx, msg, math.MaxInt64)
			if err != nil {
				if c.skips(err) {
					continue
				}
				return &inbox.MessageError{Index: i, Err: err}
			}
			open, places, backs = append(open, msg), append(places, i), append(backs, back)
		}
		if len(open) == 0 {
			return nil
		}
		err := c.call(func() error { return h(ctx, open) })
		if named, ok := errors.AsType[*inbox.MessageError](err); ok {
			place := -1 // h named an index out of range: it belongs to no message
			if named.Index >= 0 && named.Index < len(places) {
				place = places[named.Index]
			}
			return &inbox.MessageError{Index: place, Err: err}
		}
		return err
	}
}

// with opens msg while handle runs.
func (c *Content) with(ctx context.Context, msg *message.Message, handle func() error) error {
	back, err := c.open(ctx, msg, math.MaxInt64)
	if err != nil {
		if c.skips(err) {
			return nil
		}
		return err
	}
	defer back()
	return c.call(handle)
}

// skips reports whether a message that cannot be opened counts as processed.
func (c *Content) skips(err error) bool {
	return c.cfg.Seal != nil && c.cfg.Seal.SkipForgotten && errors.Is(err, ErrForgotten)
}

// open opens msg, until back is called. It reads payloads of up to most bytes from Blobs.
func (c *Content) open(ctx context.Context, msg *message.Message, most int64) (back func(), err error) {
	payload, metadata := msg.Payload, msg.Metadata
	back = func() { msg.Payload, msg.Metadata = payload, metadata }
	if msg.Metadata = maps.Clone(metadata); msg.Metadata == nil {
		msg.Metadata = message.Metadata{}
	}
	if err := c.decode(ctx, msg, most); err != nil {
		back()
		return nil, err
	}
	msg.Metadata[headerOpened] = "1"
	return back, nil
}

func (c *Content) decode(ctx context.Context, msg *message.Message, most int64) error {
	if err := c.cfg.CloudEvents.unwrap(msg); err != nil {
		return err
	}
	key, claim := msg.Metadata.Get(headerKeyName), msg.Metadata.Get(headerClaim)
	switch {
	case key != "" && c.cfg.Seal == nil:
		return faultf(nil, "message %.200q is sealed by key %.200q, and its keyring is not set here", msg.UUID, key)
	case key == "" && c.cfg.Seal != nil:
		return inbox.Permanent(faultf(nil, "message %.200q is not sealed, and must be", msg.UUID))
	case claim != "" && c.cfg.Claim == nil:
		return faultf(nil, "message %.200q is a reference to a large payload, and the store of large payloads is not set here", msg.UUID)
	}
	if err := c.cfg.Claim.get(ctx, msg, most); err != nil {
		return err
	}
	return c.cfg.Seal.open(ctx, msg)
}

const (
	showTimeout = 5 * time.Second
	showBytes   = 10 << 20
)

// Show returns the payload of a message as a handler sees it, for people who may see it. It fits
// dashboard.Decoder. Headers must have event-id and event-type, like the metadata of
// outbox.ToWatermill; a sealed message is opened by its id. Topic is ignored. Show takes at most
// five seconds, and fetches payloads of at most 10 MiB.
func (c *Content) Show(_ string, headers map[string]string, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), showTimeout)
	defer cancel()
	body, err := c.show(ctx, headers[outbox.HeaderEventID], headers, payload)
	if first := headers[headerDeadID]; err != nil && first != "" {
		if letter, failed := c.show(ctx, first, headers, payload); failed == nil {
			return letter, nil
		}
	}
	return body, err
}

func (c *Content) show(ctx context.Context, id string, headers map[string]string, payload []byte) ([]byte, error) {
	msg := message.NewMessage(id, payload)
	maps.Copy(msg.Metadata, headers)
	msg.Metadata[outbox.HeaderEventID] = id
	if _, err := c.open(ctx, msg, showBytes); err != nil {
		return nil, err
	}
	return msg.Payload, nil
}
