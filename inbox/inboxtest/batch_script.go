package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
)

// runBatchScripts delivers random messages in random batches: copies, messages that were
// processed before, ones that another delivery holds, ones that fail in any way. The results are
// compared with those of processing the messages one by one.
func runBatchScripts(t *testing.T, f Features, s BatchSubject) {
	t.Helper()
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		if err := drawScript(rt, f).run(t.Context(), s, strconv.Itoa(count)); err != nil {
			rt.Fatal(err)
		}
	})
}

// BatchScript runs one of the random batches of RunBatch, which seed chooses, on s, which no
// other script with this seed may have used.
func BatchScript(ctx context.Context, f Features, s BatchSubject, seed int) error {
	script := rapid.Custom(func(rt *rapid.T) batchScript { return drawScript(rt, f) }).Example(seed)
	return script.run(ctx, s, strconv.Itoa(seed))
}

// batchScript is a few batches, one after the other.
type batchScript struct {
	maxBatch int
	steps    []batchStep
}

func drawScript(t *rapid.T, f Features) batchScript {
	script := batchScript{maxBatch: rapid.IntRange(1, 6).Draw(t, "max batch")}
	for range rapid.IntRange(1, 4).Draw(t, "batches") {
		script.steps = append(script.steps, drawBatch(t, f))
	}
	return script
}

// run runs the script on messages whose names begin with prefix.
func (script batchScript) run(ctx context.Context, s BatchSubject, prefix string) error {
	return fail.Caught(func() {
		m := &batchModel{prefix: prefix, s: s, done: map[string]bool{}, batch: openBatch(s, script.maxBatch), holder: openBatch(s, 1000)}
		for _, step := range script.steps {
			fail.If(m.step(ctx, step))
		}
	})
}

// batchStep is one delivery of several messages, by number. Message n has key n
// mod 4, where 0 is none.
type batchStep struct {
	deliver []int
	each    bool  // deliver to a handler of single messages
	held    []int // messages that another delivery holds during the step
	commits bool  // whether that delivery commits in the end
	failing map[int]failure
}

// failure is how a handler fails for a message.
type failure int

const (
	failsPlainly failure = iota + 1
	failsByName
	panics
	marksRollbackOnly
)

func drawBatch(t *rapid.T, f Features) batchStep {
	number := rapid.IntRange(0, 11)
	step := batchStep{
		deliver: rapid.SliceOfN(number, 1, 14).Draw(t, "deliver"),
		each:    rapid.Bool().Draw(t, "each"),
		held:    rapid.SliceOfNDistinct(number, 0, 3, rapid.ID).Draw(t, "held"),
		commits: rapid.Bool().Draw(t, "commits"),
		failing: map[int]failure{},
	}
	if f.OneWriter {
		step.held = nil // all others would wait for it
	}
	for _, n := range rapid.SliceOfNDistinct(number, 0, 4, rapid.ID).Draw(t, "failing") {
		step.failing[n] = failure(rapid.IntRange(int(failsPlainly), int(marksRollbackOnly)).Draw(t, "how"))
	}
	return step
}

// batchModel computes the expected results.
type batchModel struct {
	prefix        string
	s             BatchSubject
	batch, holder BatchProcessor
	done          map[string]bool
	runs          []string // every run of the handler, undone ones included
}

func (m *batchModel) id(n int) string {
	id := m.prefix + "." + strconv.Itoa(n)
	if key := n % 4; key != 0 {
		return "k" + strconv.Itoa(key) + "/" + id
	}
	return id
}

func (m *batchModel) ids(numbers []int) []string {
	ids := make([]string, len(numbers))
	for i, n := range numbers {
		ids[i] = m.id(n)
	}
	return ids
}

// apart reports whether a message shares its lock with none of the other messages.
func (m *batchModel) apart(id string, others []int) bool {
	collider, ok := m.s.(Collider)
	for _, other := range m.ids(others) {
		if ok && other != id && collider.ShareLock(consumer, id, other) {
			return false
		}
	}
	return true
}

// step delivers a batch, inside the handler of another delivery if it holds
// messages.
func (m *batchModel) step(ctx context.Context, step batchStep) error {
	held := map[string]bool{}
	for _, n := range step.held {
		if id := m.id(n); !m.done[id] && m.apart(id, step.deliver) {
			held[id] = true
		}
	}
	if len(held) == 0 {
		return m.deliver(ctx, step, held)
	}
	var (
		found  error
		called bool
	)
	ids := make([]string, 0, len(held))
	for id := range held {
		ids = append(ids, id)
	}
	results := m.holder.Process(ctx, keyedBatch(ctx, ids...), func(txCtx context.Context, msgs []*message.Message) error {
		if !called { // it is called again for each half, if it fails
			called, found = true, m.deliver(ctx, step, held)
		}
		if !step.commits {
			return errHandler
		}
		return writingEach(m.s, nil)(txCtx, msgs)
	})
	for i, err := range results {
		if err == nil {
			m.done[ids[i]] = true
		}
		if (err == nil) != step.commits {
			found = errors.Join(found, fmt.Errorf("held message %s: %w", ids[i], orNone(err)))
		}
	}
	return errors.Join(found, m.wantDone(ctx, nil))
}

func (m *batchModel) deliver(ctx context.Context, step batchStep, held map[string]bool) error {
	ids, failing := m.ids(step.deliver), map[string]failure{}
	for n, how := range step.failing {
		failing[m.id(n)] = how
	}
	m.runs = nil
	var got []error
	if step.each {
		got = m.batch.HandleEach(m.handlerOfOne(failing))(ctx, keyedBatch(ctx, ids...))
	} else {
		got = m.batch.Process(ctx, keyedBatch(ctx, ids...), m.handler(failing))
	}
	var errs []error
	var fresh []string
	blocked, first := map[string]bool{}, map[string]error{}
	for i, id := range ids {
		if before, again := first[id]; again {
			if !errors.Is(got[i], before) {
				errs = append(errs, fmt.Errorf("copy of %s: %w, want %w", id, orNone(got[i]), orNone(before)))
			}
			continue
		}
		first[id] = got[i]
		want, key := error(nil), keyOf(id)
		switch {
		case blocked[key] && m.done[id] && got[i] == nil: // held back or found: both are right
		case blocked[key]:
			want = inbox.ErrBusy // or ErrHeldBack, which wraps it
		case m.done[id]:
		case held[id]:
			want = inbox.ErrBusy
		case failing[id] == marksRollbackOnly:
			want = inbox.ErrRollbackOnly
		case failing[id] != 0:
			want = errHandler
		default:
			m.done[id] = true
			fresh = append(fresh, id)
		}
		blocked[key] = blocked[key] || (want != nil && key != "")
		if !errors.Is(got[i], want) || (want == nil && got[i] != nil) {
			errs = append(errs, fmt.Errorf("message %s: %w, want %w", id, orNone(got[i]), orNone(want)))
		}
	}
	return errors.Join(errors.Join(errs...), m.wantOrder(fresh), m.wantDone(ctx, held))
}

func (m *batchModel) handler(failing map[string]failure) func(ctx context.Context, msgs []*message.Message) error {
	return func(_ context.Context, msgs []*message.Message) error {
		for i, msg := range msgs {
			err := m.run(msg, failing[msg.UUID])
			if err != nil && failing[msg.UUID] == failsByName {
				err = &inbox.MessageError{Index: i, Err: err}
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func (m *batchModel) handlerOfOne(failing map[string]failure) func(ctx context.Context, msg *message.Message) error {
	return func(_ context.Context, msg *message.Message) error { return m.run(msg, failing[msg.UUID]) }
}

// run is the handler: it writes the message's id, and fails in the way that how selects.
func (m *batchModel) run(msg *message.Message, how failure) error {
	m.runs = append(m.runs, msg.UUID)
	if err := m.s.Write(msg.Context(), msg.UUID); err != nil {
		return err
	}
	switch how {
	case failsPlainly, failsByName:
		return errHandler
	case panics:
		panic(errHandler)
	case marksRollbackOnly:
		inbox.MarkRollbackOnly(msg.Context(), nil)
	}
	return nil
}

// wantOrder compares the order in which messages of one key last ran, which is
// the order in which they took effect, with that in which they were delivered.
func (m *batchModel) wantOrder(delivered []string) error {
	last := map[string]int{}
	for i, id := range m.runs {
		last[id] = i
	}
	latest := map[string]string{}
	for _, id := range delivered {
		key := keyOf(id)
		if before := latest[key]; key != "" && before != "" && last[before] > last[id] {
			return fmt.Errorf("message %s took effect after %s, which was delivered later", before, id)
		}
		latest[key] = id
	}
	return nil
}

// wantDone compares what has taken effect with the model. Those that another
// delivery holds are not committed yet.
func (m *batchModel) wantDone(ctx context.Context, held map[string]bool) error {
	got, err := m.s.Effects(ctx)
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, effect := range got {
		count[effect]++
	}
	for n := range 12 {
		id, want := m.id(n), 0
		if m.done[id] && !held[id] {
			want = 1
		}
		if count[id] != want {
			return fmt.Errorf("message %s has %d effects, want %d", id, count[id], want)
		}
	}
	return nil
}
