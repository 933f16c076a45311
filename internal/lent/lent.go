// Package lent gives a handler a message of its own in place of one that somebody else
// settles. A router acks after the commit; a handler that acks before it, which costs
// nothing in plain Watermill, would have its message acknowledged and its effects undone.
package lent

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Err is inbox.ErrAckedBeforeCommit.
var Err = errors.New("leat: message was acked or nacked before the commit")

// Message is a message and what a handler gets in its place. One goroutine uses it.
// See rule B4.
type Message struct {
	theirs, own *message.Message
}

// Of returns the Message of msg.
func Of(msg *message.Message) Message { return Message{theirs: msg} }

// Lend returns the handler's own message, with ctx. It shares the UUID, the payload and the
// metadata with the other one. Its Ack and its Nack reach nobody.
func (m *Message) Lend(ctx context.Context) *message.Message {
	if m.own == nil {
		m.own = message.NewMessage("", nil)
	}
	m.own.UUID, m.own.Metadata, m.own.Payload = m.theirs.UUID, m.theirs.Metadata, m.theirs.Payload
	m.own.SetContext(ctx)
	return m.own
}

// Return gives the other message what the handler has changed: middlewares look at it.
func (m *Message) Return() {
	m.theirs.UUID, m.theirs.Metadata, m.theirs.Payload = m.own.UUID, m.own.Metadata, m.own.Payload
}

// Nacked returns Err if the handler has nacked its message: it is not done, whatever the
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

// Settle acks the handler's own message if done is true, and else nacks it, for those who
// wait for that. Only the first call counts, and a handler's own ack or nack before it.
func (m *Message) Settle(done bool) {
	switch {
	case m.own == nil:
	case done:
		m.own.Ack()
	default:
		m.own.Nack()
	}
}
