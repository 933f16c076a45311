package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

const (
	stormWriters = 8
	stormTxs     = 12
	stormKeys    = 3
)

// storm is a number of concurrent writers that commit and roll back at random.
type storm struct {
	tr *trial

	mu        sync.Mutex
	failed    error
	committed []string
	// commits counts the committed transactions of a key. A writer reads and increments it while
	// its transaction holds the key, so that the number it stores is its place in the order of
	// the commits.
	commits map[string]int
	spans   map[string]span // of the committed transactions with a key, by name
}

func newStorm(tr *trial) *storm {
	return &storm{tr: tr, commits: make(map[string]int), spans: make(map[string]span)}
}

// start starts the writers. The channel is closed when all are done; the check waits for that in
// any case.
func (s *storm) start(ctx context.Context, seed uint64) <-chan struct{} {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for w := range stormWriters {
		wg.Go(func() { s.fail(fail.Caught(func() { s.writeAll(ctx, seed, w) })) })
	}
	go func() {
		defer close(done)
		wg.Wait()
	}()
	s.tr.cleanup(func() {
		cancel()
		<-done
	})
	return done
}

func (s *storm) writeAll(ctx context.Context, seed uint64, writer int) {
	rng := rand.New(rand.NewPCG(seed, uint64(writer))) //nolint:gosec // for a test; not a secret
	for i := range stormTxs {
		fail.In(fmt.Sprintf("writer %d", writer), func() { s.write(ctx, rng, fmt.Sprintf("w%d-t%d", writer, i)) })
	}
}

func (s *storm) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = errors.Join(s.failed, err)
}

// err returns the errors of the writers.
func (s *storm) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// write runs one transaction: half of them without a key, half with one, and a
// quarter rolled back.
func (s *storm) write(ctx context.Context, rng *rand.Rand, name string) {
	commit := rng.IntN(4) > 0
	if rng.IntN(2) == 0 {
		batch := numbered(name, 1+rng.IntN(3))
		fail.If(s.tr.finish(ctx, commit, named(batch...)...))
		s.note(commit, batch)
		return
	}
	key := "key" + strconv.Itoa(rng.IntN(stormKeys))
	tx, err := s.tr.Begin(ctx)
	fail.If(err, "begin")
	batch, err := s.enqueueKeyed(ctx, tx, key, name, commit)
	if err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		fail.Now(err)
	}
	from := time.Now()
	fail.If(end(ctx, tx, commit))
	s.note(commit, batch)
	if commit {
		s.noteSpan(key, batch, from)
	}
}

// enqueueKeyed enqueues one message of key, so that the transaction holds the key, and then
// another with the transaction's place among the commits of the key, unless Commit decides the
// order.
func (s *storm) enqueueKeyed(ctx context.Context, tx Tx, key, name string, commit bool) ([]string, error) {
	if err := tx.Enqueue(ctx, keyed(key, name)...); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if s.tr.features.OptimisticKeys {
		second := name + " again"
		if err := tx.Enqueue(ctx, keyed(key, second)...); err != nil {
			return nil, fmt.Errorf("enqueue: %w", err)
		}
		return []string{name, second}, nil
	}
	s.mu.Lock()
	place := s.commits[key] + 1
	if commit {
		s.commits[key] = place
	}
	s.mu.Unlock()
	second := commitPlace(key, place)
	if err := tx.Enqueue(ctx, keyed(key, second)...); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	return []string{name, second}, nil
}

func (s *storm) note(commit bool, batch []string) {
	if !commit {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.committed = append(s.committed, batch...)
}

func (s *storm) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.committed...)
}

func commitPlace(key string, place int) string {
	return key + "/" + strconv.Itoa(place)
}

// expectOrder checks what was read, or published, in that order: the first occurrences of each
// topic and key ascend in Seq, and the commits of a storm come in the order 1, 2, 3….
func expectOrder(got []outbox.Record) {
	type lane struct{ topic, key string }
	last := make(map[lane]int64)
	commits := make(map[lane]int)
	seen := make(map[int64]bool)
	for i := range got {
		r := &got[i]
		l := lane{r.Topic, r.Key}
		if r.Key == "" || seen[r.Seq] {
			continue
		}
		seen[r.Seq] = true
		if r.Seq < last[l] {
			fail.With("key %q: first occurrence of Seq %d (%.40q) after that of %d", r.Key, r.Seq, r.Payload, last[l])
		}
		last[l] = r.Seq
		if want := commitPlace(r.Key, commits[l]+1); string(r.Payload) == want {
			commits[l]++
		} else if len(r.Payload) > len(r.Key) && string(r.Payload[:len(r.Key)+1]) == r.Key+"/" {
			fail.With("key %q: commit %s comes where %s was expected", r.Key, r.Payload, want)
		}
	}
}

// span bounds the time at which a transaction of a storm was committed: it lies between two instants.
type span struct {
	key      string
	from, to time.Time
}

// inCommitOrder checks records in the order in which they were read or published: if a
// transaction had committed before the commit of another one of the same key began, its record
// comes first.
func (s *storm) inCommitOrder(got []outbox.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	later := make(map[string]span) // for each key, the span that began last among those so far
	seen := make(map[string]bool)
	for i := range got {
		name := string(got[i].Payload)
		is, ok := s.spans[name]
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		if before, ok := later[is.key]; ok && is.to.Before(before.from) {
			fail.With("key %q: %.40q comes behind a record whose commit was begun %s after its own had ended", is.key, name, before.from.Sub(is.to))
		}
		if is.from.After(later[is.key].from) {
			later[is.key] = is
		}
	}
}

// noteSpan records that the transaction of names has committed since from.
func (s *storm) noteSpan(key string, names []string, from time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		s.spans[name] = span{key: key, from: from, to: time.Now()}
	}
}
