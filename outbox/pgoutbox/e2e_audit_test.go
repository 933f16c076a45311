package pgoutbox_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/leat-go/leat/outbox"
)

// ledger holds what the producers know: which messages were committed and which were rolled back.
type ledger struct {
	mu         sync.Mutex
	committed  map[string]outbox.Message
	rolledBack map[string]struct{}
}

func newLedger() *ledger {
	return &ledger{committed: map[string]outbox.Message{}, rolledBack: map[string]struct{}{}}
}

func (l *ledger) note(commit bool, msgs ...outbox.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range msgs {
		if commit {
			l.committed[m.ID] = m
		} else {
			l.rolledBack[m.ID] = struct{}{}
		}
	}
}

func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.committed)
}

// delivered is a record of the broker's log.
type delivered struct {
	outbox.Message

	partition int32
	offset    int64
}

// report lists what is wrong with a broker's log, invariant by invariant.
type report struct {
	lost     []string // O2: committed, not in the log
	phantom  []string // O3: in the log, not committed
	altered  []string // O4: copies that are not what was enqueued
	inverted []string // O5: first occurrences of a key that descend in seq
	copies   int      // O10: beyond the first
	most     int      // O10: copies of one message
}

// audit compares the log, each partition in the order of its offsets, with the committed messages. seqs
// maps message ids to the numbers of their rows.
func audit(l *ledger, log []delivered, seqs map[string]int64) report {
	l.mu.Lock()
	defer l.mu.Unlock()
	var r report
	copies := map[string]int{}
	last := map[[2]string]int64{}
	for i := range log {
		d := &log[i]
		want, ok := l.committed[d.ID]
		if !ok {
			r.phantom = append(r.phantom, d.ID)
			continue
		}
		copies[d.ID]++
		if !sameMessage(want, d.Message) {
			r.altered = append(r.altered, fmt.Sprintf("%+v, want %+v", d.Message, want))
		}
		lane := [2]string{d.Topic, d.Key}
		if d.Key != "" && copies[d.ID] == 1 {
			if seqs[d.ID] < last[lane] {
				r.inverted = append(r.inverted, d.ID)
			}
			last[lane] = seqs[d.ID]
		}
	}
	for id := range l.committed {
		if copies[id] == 0 {
			r.lost = append(r.lost, id)
		}
		r.copies += max(0, copies[id]-1)
		r.most = max(r.most, copies[id])
	}
	slices.Sort(r.lost)
	return r
}

func sameMessage(a, b outbox.Message) bool {
	return a.ID == b.ID && a.Topic == b.Topic && a.Key == b.Key && a.Type == b.Type &&
		string(a.Payload) == string(b.Payload) && maps.Equal(a.Headers, b.Headers) && a.OccurredAt.Equal(b.OccurredAt)
}
