// Package lent gives a handler a copy of a message that the router or subscriber settles. A router
// acks after the commit. A handler that acks before it, which does no harm in plain Watermill,
// would have its message acknowledged and its effects undone.
package lent

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Err is inbox.ErrAckedBeforeCommit.
var Err = errors.New("leat: message was acked or nacked before the commit")

// Message is a message and the copy that a handler gets instead. One goroutine uses it. See rule
// B4.
type Message struct {
	theirs, own *message.Message
}

// Of returns the Message of msg.
func Of(msg *message.Message) Message { return Message{theirs: msg} }

// Lend returns the handler's own message, with ctx. It shares the UUID, the payload and the
// metadata with the original. Its Ack and its Nack have no effect on the original.
func (m *Message) Lend(ctx context.Context) *message.Message {
	if m.own == nil {
		m.own = message.NewMessage("", nil)
	}
	m.own.UUID, m.own.Metadata, m.own.Payload = m.theirs.UUID, m.theirs.Metadata, m.theirs.Payload
	m.own.SetContext(ctx)
	return m.own
}

// Return copies the handler's changes back to the original, since middlewares look at it.
func (m *Message) Return() {
	m.theirs.UUID, m.theirs.Metadata, m.theirs.Payload = m.own.UUID, m.own.Metadata, m.own.Payload
}

// Nacked returns Err if the handler has nacked its message: the message is not done, whatever the
// handler returns.
func (m *Message) Nacked() error { return Nacked(m.own) }

// Nacked returns Err if own, a handler's own message, is nacked.
func Nacked(own *message.Message) error {
	select {
	case <-own.Nacked():
		return Err
	default:
		return nil
	}
}

// To calls handle with the handler's own message.
func (m *Message) To(ctx context.Context, handle func(own *message.Message) error) error {
	own := m.Lend(ctx)
	defer m.Return()
	if err := handle(own); err != nil {
		return err
	}
	return m.Nacked()
}

// Settle acks the handler's own message if done is true, and nacks it otherwise, for goroutines
// that wait for that. Only the first call counts, and it has no effect after a handler's own ack or
// nack.
func (m *Message) Settle(done bool) {
	switch {
	case m.own == nil:
	case done:
		m.own.Ack()
	default:
		m.own.Nack()
	}
}
