package pgwindow_test

import (
	"math"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/leat-go/leat/outbox/internal/pglease"
)

// The calls of a lease's history: beside those of the lease itself, the write and
// the read of what it guards, a position.
const (
	opClaim = iota
	opRenew
	opRelease
	opAdvance
	opRead
)

const (
	// historyTTL is how long leases last in histories.
	historyTTL = 40e6 // ns
	// slack is how much the server's clock and ours may be apart within one machine.
	slack = 15e6 // ns
	// never is the time at which calls return whose answer is lost.
	never = math.MaxInt64
)

// request is a call. Times are nanoseconds from the history's start.
type request struct {
	op     int
	lease  pglease.Lease // of a claim, slot and owner
	former pglease.Former
	n      int64 // what is written
	call   int64
}

// reply is an answer; unknown where it was lost, so that the call may have been
// executed at any time, or never.
type reply struct {
	unknown bool
	ret     int64
	ok      bool
	n       int64 // the epoch of a claim, or what was read
}

// guarded is the state of a slot in the sequential model.
type guarded struct {
	owner string
	epoch int64
	until int64 // the lease cannot have ended before; it may last longer
	last  int64 // what is stored

	// Who held the lease before, and when the claim had returned that took it. An
	// advance reads the lease and then writes the position: one that was under way
	// when the lease was taken may still be stored, which does no harm.
	prev  string
	taken int64
}

func (g *guarded) heldBy(l pglease.Lease) bool { return g.owner == l.Owner && g.epoch == l.Epoch }

// step is one way in which a call can be executed.
type step struct {
	reply reply
	next  guarded
}

// fencedRegister is what leases and positions do, one call after the other.
func fencedRegister() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Partition: bySlot,
		Init:      func() []any { return []any{guarded{epoch: 1}} },
		Step: func(state, input, output any) (next []any) {
			in, out := input.(request), output.(reply)
			for _, s := range executions(state.(guarded), in, out.ret) {
				if out.unknown || s.reply.ok == out.ok && s.reply.n == out.n {
					next = append(next, s.next)
				}
			}
			return next
		},
	}
	return model.ToModel()
}

func bySlot(history []porcupine.Operation) (parts [][]porcupine.Operation) {
	slots := map[int16][]porcupine.Operation{}
	for _, op := range history {
		no := op.Input.(request).lease.Slot.No
		slots[no] = append(slots[no], op)
	}
	for _, part := range slots {
		parts = append(parts, part)
	}
	return parts
}

// executions returns all ways in which in can be executed by ret at the latest.
func executions(g guarded, in request, ret int64) []step {
	refused := step{reply{}, g}
	switch in.op {
	case opClaim:
		// A rival that has the row locked is not waited for, so that a claim may be
		// refused at any time.
		if !claimable(g, in, ret) {
			return []step{refused}
		}
		taken := guarded{
			owner: in.lease.Owner, epoch: g.epoch + 1, until: in.call + historyTTL - slack, last: g.last,
			prev: owned(g.owner, g.epoch), taken: ret,
		}
		return []step{refused, {reply{ok: true, n: taken.epoch}, taken}}
	case opRenew:
		if !g.heldBy(in.lease) {
			return []step{refused}
		}
		g.until = in.call + historyTTL - slack
		return []step{{reply{ok: true}, g}}
	case opRelease:
		if g.heldBy(in.lease) {
			g.owner = ""
		}
		return []step{{reply{ok: true}, g}}
	case opAdvance:
		return advances(g, in, refused)
	default:
		return []step{{reply{ok: true, n: g.last}, g}}
	}
}

// claimable reports whether the lease may be free by ret, or is one of the claimer's
// former incarnations'.
func claimable(g guarded, in request, ret int64) bool {
	number, ours := strings.CutPrefix(g.owner, in.former.Prefix)
	n, err := strconv.ParseInt(number, 10, 64)
	return g.owner == "" || ret >= g.until || in.former.Prefix != "" && ours && err == nil && n <= in.former.Last
}

func advances(g guarded, in request, refused step) []step {
	stored := g
	stored.last = in.n
	switch {
	case in.n <= g.last:
		return []step{refused}
	case g.heldBy(in.lease):
		return []step{{reply{ok: true}, stored}}
	case g.prev == owned(in.lease.Owner, in.lease.Epoch) && in.call < g.taken:
		return []step{refused, {reply{ok: true}, stored}}
	default:
		return []step{refused}
	}
}

func owned(owner string, epoch int64) string { return owner + " " + strconv.FormatInt(epoch, 10) }
