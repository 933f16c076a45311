package middleware

import (
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// HeaderParentID is the metadata with the former id of a message that a handler passed on.
const HeaderParentID = "event-parent-id"

// passedOnID returns the new id for a message that the handler of consumer returned as number n,
// from 0, with the id parent of the handled message, as handlers that filter or forward do. To
// every inbox two messages with one id are one message: a consumer of both topics, or one that
// gets two of them, would take the second for a repeat and acknowledge it without an effect. The
// new id is the same however often the handler runs.
func passedOnID(parent, consumer string, n int) string {
	return inbox.ChildID(parent, consumer, "passed on "+strconv.Itoa(n))
}

// parent describes the message that a handler gets, as it was before the handler ran.
type parent struct {
	id, consumer string
}

// parentOf uses the consumer's name, or the handler's name if by has none.
func parentOf(by any, msg *message.Message) parent {
	p := parent{id: msg.UUID}
	if named, ok := by.(interface{ Consumer() string }); ok {
		p.consumer = named.Consumer()
	} else {
		p.consumer = message.HandlerNameFromCtx(msg.Context())
	}
	return p
}

// passOn returns produced, with each message that has the parent's id replaced by a copy with a
// new id. The messages themselves are not changed: one of them may be the parent, which a Retry
// outside needs again.
func (p parent) passOn(produced []*message.Message) []*message.Message {
	out := produced
	for n, msg := range produced {
		if msg == nil || msg.UUID == "" || msg.UUID != p.id {
			continue
		}
		if &out[0] == &produced[0] {
			out = append([]*message.Message(nil), produced...)
		}
		child := msg.CopyWithContext()
		child.UUID = passedOnID(p.id, p.consumer, n)
		child.Metadata.Set(HeaderParentID, p.id)
		if child.Metadata.Get(outbox.HeaderEventID) != "" {
			child.Metadata.Set(outbox.HeaderEventID, child.UUID)
		}
		out[n] = child
	}
	return out
}
