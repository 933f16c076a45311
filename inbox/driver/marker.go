package driver

import (
	"context"
	"errors"
)

// ErrMarksMoved is returned by Marker.SetMarks if a mark is not as the session left it: the
// database went back in time or is another server, or another session now has the partition.
var ErrMarksMoved = errors.New("leat: the group's marks are not as this session left them: the database went back or is another server, or another member has the partition")

// Marker notes how far consumer groups have come, in the database of an inbox: every message of a
// partition below its mark was acknowledged. A subscriber moves the mark before it commits the
// group's offset to the broker. So an offset beyond its mark shows that the database went back in
// time.
type Marker interface {
	// Marks returns the marks of a group's partitions of a topic.
	Marks(ctx context.Context, of GroupTopic) (Marks, error)

	// SetMarks moves marks, by partition, and returns their new Token. It returns ErrMarksMoved,
	// and has moved none, if History is not the same or the Token of one of them is not the one
	// that was read or set last. Next may be lower than before.
	SetMarks(ctx context.Context, of GroupTopic, history string, marks map[int32]Mark) (token string, err error)
}

type marksKey struct{}

type readMarks struct {
	from    Marker
	history string
}

// WithMarks returns a child of ctx that carries where the marks of a message's group are, and the
// history in which they were read. An inbox of the same pool and tables returns ErrMarksMoved for the
// message on a connection to another history, so that it does not take effect before those that
// were lost. It notices only what costs no round trip for each message.
func WithMarks(ctx context.Context, from Marker, history string) context.Context {
	return context.WithValue(ctx, marksKey{}, readMarks{from, history})
}

// MarksFrom returns what WithMarks was given, or nil.
func MarksFrom(ctx context.Context) (from Marker, history string) {
	m, _ := ctx.Value(marksKey{}).(readMarks)
	return m.from, m.history
}

// GroupTopic is a topic that a consumer group reads. Source is the topic's id, as in Position: a
// topic that was deleted and created again, or one of another cluster, is a different topic.
type GroupTopic struct{ Group, Topic, Source string }

// Marks are the marks of a GroupTopic.
type Marks struct {
	// History changes if the database becomes another one, or its server does, as far as the
	// store can tell.
	History string
	// Known is set if the group has marks of any topic.
	Known bool
	// Partitions has the partitions that have a mark.
	Partitions map[int32]Mark
}

// Mark is a place in a partition.
type Mark struct {
	// Next is the offset below which every message was acknowledged.
	Next int64
	// Token changes with each SetMarks. It is empty for a partition without a mark.
	Token string
}
