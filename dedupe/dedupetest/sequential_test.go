package dedupetest_test

import (
	"math"

	"github.com/anishathalye/porcupine"

	"github.com/leat-go/leat/dedupe"
)

// The calls of a store, as a history has them.
const (
	opClaim = iota
	opExtend
	opComplete
	opRelease
	opLose
)

// slack is how much the store's clock and ours may be apart within one machine.
const slack = 15e6 // ns

// request is a call. Times are nanoseconds from the history's start.
type request struct {
	op          int
	key, token  string
	lease, call int64
}

// reply is an answer; unknown where it was lost, so that the call may have been
// executed at any time, or never.
type reply struct {
	unknown    bool
	ret        int64
	claim      dedupe.Claim
	completion dedupe.Completion
	fenced     bool
}

// record is the state of one key in the sequential model. A lease cannot have ended
// before until; it may last longer.
type record struct {
	kind    byte // 0, P, F or D
	token   string
	attempt int
	until   int64
}

// step is one way in which a call can be executed.
type step struct {
	reply reply
	next  record
}

// sequential is what a store does, one call after the other.
func sequential() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{record{}} },
		Step: func(state, input, output any) (next []any) {
			in, out := input.(request), output.(reply)
			for _, s := range executions(state.(record), in, out.ret) {
				if out.unknown || agrees(in.op, s.reply, out) {
					next = append(next, s.next)
				}
			}
			return next
		},
	}
	return model.ToModel()
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	keys := map[string][]porcupine.Operation{}
	for _, op := range history {
		k := op.Input.(request).key
		keys[k] = append(keys[k], op)
	}
	var parts [][]porcupine.Operation
	for _, part := range keys {
		parts = append(parts, part)
	}
	return parts
}

func agrees(op int, want, got reply) bool {
	switch op {
	case opClaim:
		return want.claim.Status == got.claim.Status && want.claim.Attempt == got.claim.Attempt && want.claim.Takeover == got.claim.Takeover
	case opComplete:
		return want.completion == got.completion
	case opExtend:
		return want.fenced == got.fenced
	default:
		return true
	}
}

// executions returns all ways in which in can be executed by ret at the latest.
func executions(r record, in request, ret int64) []step {
	until := in.call + in.lease - slack
	holds := r.kind == 'P' && r.token == in.token
	switch {
	case in.op == opClaim:
		return claims(r, in, ret, until)
	case in.op == opComplete:
		return []step{completed(r, in.token)}
	case in.op == opLose:
		return []step{{}}
	case in.op == opExtend && holds:
		r.until = until
	case in.op == opExtend:
		return []step{{reply{fenced: true}, r}}
	case holds: // a release
		r.kind = 'F'
	}
	return []step{{reply{}, r}}
}

func claims(r record, in request, ret, until int64) []step {
	take := func(takeover bool) step {
		c := dedupe.Claim{Status: dedupe.Claimed, Attempt: r.attempt + 1, Takeover: takeover}
		return step{reply{claim: c}, record{'P', in.token, r.attempt + 1, until}}
	}
	stay := func(status dedupe.Status) step {
		return step{reply{claim: dedupe.Claim{Status: status, Attempt: r.attempt}}, r}
	}
	switch r.kind {
	case 0, 'F':
		return []step{take(false)}
	case 'D':
		return []step{stay(dedupe.Done)}
	}
	held := stay(dedupe.Busy)
	if r.token == in.token {
		held = stay(dedupe.Claimed)
	}
	if ret < r.until {
		return []step{held}
	}
	return []step{held, take(true)}
}

func completed(r record, token string) step {
	done := record{kind: 'D', token: token, attempt: max(r.attempt, 1)}
	switch {
	case r.kind == 0:
		return step{reply{completion: dedupe.Resurrected}, done}
	case r.kind == 'F':
		return step{reply{completion: dedupe.Late}, done}
	case r.token == token:
		return step{reply{completion: dedupe.Completed}, done}
	case r.kind == 'D':
		return step{reply{completion: dedupe.FencedDone}, r}
	default:
		return step{reply{completion: dedupe.Fenced}, r}
	}
}

// never is the time at which calls return whose answer is lost.
const never = math.MaxInt64
