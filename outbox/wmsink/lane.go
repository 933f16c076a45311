package wmsink

import (
	"context"
)

// lane is where the messages of some topics and keys are published one after the
// other. It is taken by sending to taken; a call of Publish that outlives its
// Send keeps it.
// See design 6.4.
type lane struct {
	taken chan struct{}

	// late is the message that was acknowledged after its Send had returned. When the relay sends
	// it again, no second copy is published: without this, a publisher slower than every Send
	// would publish copies for ever and never advance. It belongs to the holder of the lane.
	late job
}

func newLanes(n int) []*lane {
	lanes := make([]*lane, n)
	for i := range lanes {
		lanes[i] = &lane{taken: make(chan struct{}, 1)}
	}
	return lanes
}

// take waits for the lane, at most until ctx has ended.
func (l *lane) take(ctx context.Context) error {
	select {
	case l.taken <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *lane) free() {
	<-l.taken
}

// remember records that j was acknowledged late.
func (l *lane) remember(j job) {
	l.late = job{seq: j.seq, topic: j.topic, msg: j.msg}
}

// acknowledged reports whether j was acknowledged late. It reports true only once.
func (l *lane) acknowledged(j job) bool {
	if l.late.msg == nil || l.late.seq != j.seq || l.late.topic != j.topic || l.late.msg.UUID != j.msg.UUID {
		return false
	}
	l.late = job{}
	return true
}
