package middleware

import (
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// HeaderParentID is the metadata in which a message that was passed on carries the
// id that it had before.
const HeaderParentID = "event-parent-id"

// passedOnID is the id of a message that the handler of consumer returned as number n,
// from 0, under the id of the message that it was made of, which was parent: as
// handlers do that filter or forward. Two messages with one id are one to every
// inbox: a consumer of both topics, or one that gets two of them, would take the
// second for a repeat and acknowledge it without an effect. The message has the same id
// however often the handler runs.
func passedOnID(parent, consumer string, n int) string {
	return inbox.ChildID(parent, consumer, "passed on "+strconv.Itoa(n))
}

// parent is the message that a handler gets, as it was before the handler had it.
type parent struct {
	id, consumer string
}

// parentOf goes by the consumer's name, and by the handler's where by has none.
func parentOf(by any, msg *message.Message) parent {
	p := parent{id: msg.UUID}
	if named, ok := by.(interface{ Consumer() string }); ok {
		p.consumer = named.Consumer()
	} else {
		p.consumer = message.HandlerNameFromCtx(msg.Context())
	}
	return p
}

// passOn returns produced, in which a copy with an id of its own stands for each
// message that has the parent's. The messages themselves stay as they are: one of
// them may be the parent, which a Retry outside needs again.
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
