package kafkasource

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Kafka's keys of the requests that show the group that a member is alive.
const (
	keyHeartbeat = 12
	keySyncGroup = 14
)

// pulse knows a time at which the group heard from this member for certain: when the last
// answered request was sent. A member whose heartbeats get no answer cannot ask the group whether
// it was replaced; it can only measure the time.
type pulse struct {
	born   time.Time
	last   atomic.Int64 // as a duration since born
	synced func()       // after each answered request to synchronise
}

var _ kgo.HookBrokerE2E = (*pulse)(nil)

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (p *pulse) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	if e2e.Err() != nil || (key != keyHeartbeat && key != keySyncGroup) {
		return
	}
	p.last.Store(int64(time.Since(p.born) - e2e.DurationE2E()))
	if key == keySyncGroup {
		p.synced()
	}
}

// silence returns how long the group may have heard nothing from this member.
func (p *pulse) silence() time.Duration {
	return time.Since(p.born) - time.Duration(p.last.Load())
}

// sameMember gives the session up when the group knows this client under a new member id. The
// client was then out of the group, where others may have had its partitions, and has come back
// as if it had kept them. It reports such a loss only if a heartbeat noticed it first, and not if
// a commit or a join did.
func (m *member) sameMember() {
	select {
	case <-m.ready:
	default:
		return
	}
	id, _ := m.client.GroupMetadata()
	if before := m.name.Swap(&id); before != nil && *before != "" && *before != id && len(m.parts()) > 0 {
		m.giveUp(ErrSessionLost)
	}
}

// watch gives the session up when the group has heard nothing for so long that it will soon
// reassign this member's partitions. It returns when stop is closed.
// See design 16.2.
func (m *member) watch(stop <-chan struct{}) {
	limit := m.cfg.fenceAfter()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-stop:
			return
		}
		left := limit - m.pulse.silence()
		if left <= 0 {
			if len(m.parts()) > 0 {
				m.giveUp(ErrSessionLost)
				return
			}
			left = limit // this member has no partitions to lose
		}
		timer.Reset(left)
	}
}
