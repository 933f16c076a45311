package history_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/history"
)

const (
	orders     = "orders"
	applied    = "applied"
	loyalty    = "loyalty"
	partitions = 3
	opening    = 1000
)

// tester is a test, or the try of a property.
type tester interface {
	require.TestingT
	Context() context.Context
}

// story is a history that is made up, of a system without a defect: transfers between
// accounts, a relay that repeats after faults, a consumer that answers every effect
// with an event of its own.
type story struct {
	random *rand.Rand
	clock  int64
	keys   int

	producer, relay, consumer, driver   []history.Line
	ledger, outbox, records, kept, rows []history.Line
	versions                            map[string]int64
	offsets                             map[string]int64
	books                               map[string]map[string]int64 // consumer → account → amount
	subscription                        history.Line
	withoutLedger                       bool
}

// tell makes up a story of n events.
func tell(seed uint64, n int) *story {
	s := &story{
		random:       rand.New(rand.NewPCG(seed, 1)),
		clock:        1_700_000_000_000_000,
		versions:     map[string]int64{},
		offsets:      map[string]int64{},
		books:        map[string]map[string]int64{"": {}, loyalty: {}},
		subscription: history.Line{Of: history.EffectRow, Topic: orders, Consumer: loyalty},
	}
	s.keys = 2 + s.random.IntN(3)
	for k := range s.keys {
		s.books[""][account(k)], s.books[loyalty][account(k)] = opening, opening
	}
	for i := range n {
		s.event(fmt.Sprintf("e-%d", i))
	}
	return s
}

func account(k int) string { return fmt.Sprintf("a-%d", k) }

// now is later than it was.
func (s *story) now() int64 {
	s.clock += 1 + s.random.Int64N(2000)
	return s.clock
}

// event makes up all of one event.
func (s *story) event(id string) {
	from := s.random.IntN(s.keys)
	to := (from + 1 + s.random.IntN(s.keys-1)) % s.keys
	l := history.Line{
		Type: history.Intent, At: s.now(), ID: id, Key: account(from), To: account(to),
		Version: s.versions[account(from)] + 1, Amount: 1 + s.random.Int64N(9), Topic: orders, Digest: "d-" + id,
	}
	s.producer = append(s.producer, l)
	fate := s.random.IntN(10)
	outcomes := []history.Type{history.Aborted, history.Unknown, "", history.Unknown}
	if fate < 3 { // rolled back: told, not told, and killed before
		s.outcome(id, outcomes[fate])
		return
	}
	s.outcome(id, append(outcomes[1:3:3], history.Committed)[min(fate-3, 2)])
	s.versions[l.Key] = l.Version
	s.commit(l)
}

func (s *story) outcome(id string, outcome history.Type) {
	if outcome != "" {
		s.producer = append(s.producer, history.Line{Type: outcome, At: s.now(), ID: id})
	}
}

// commit makes up what follows on a commit.
func (s *story) commit(l history.Line) {
	row := l
	row.Type, row.At, row.Topic, row.Digest = history.Ledger, 0, "", ""
	s.ledger = append(s.ledger, row)
	s.move("", l, 1)
	s.outbox = append(s.outbox, history.Line{Type: history.Outbox, ID: l.ID})
	switch s.random.IntN(12) {
	case 0:
		s.kept = append(s.kept, history.Line{Type: history.Waiting, ID: l.ID, Where: history.Parked})
		return
	case 1: // sent twice, since the relay was killed
		s.send(l.ID, orders, l.Key, "")
		s.driver = append(s.driver, history.Line{
			Type: history.Fault, At: s.now(), Point: "relay/sent_not_acked", Kind: "exit",
			Inflight: 1, Consequence: "takeover",
		})
	}
	s.send(l.ID, orders, l.Key, "")
	s.consumer = append(s.consumer, history.Line{Type: history.Delivered, At: s.now(), ID: l.ID, Consumer: loyalty})
	if s.random.IntN(12) == 0 {
		s.kept = append(s.kept, history.Line{
			Type: history.Waiting, ID: l.ID, Where: history.Parked, Consumer: loyalty,
		})
		return
	}
	s.apply(l, "c-"+l.ID)
	s.consumer = append(s.consumer, history.Line{Type: history.Effect, At: s.now(), ID: l.ID, Consumer: loyalty})
}

// send puts a record at the end of its partition.
func (s *story) send(id, topic, key, cause string) {
	s.relay = append(s.relay, history.Line{Type: history.Sent, At: s.now(), ID: id})
	place := history.Line{Topic: topic, Partition: int32(key[len(key)-1]) % partitions}
	name := fmt.Sprintf("%s/%d", topic, place.Partition)
	s.records = append(s.records, history.Line{
		Type: history.Record, At: s.now(), ID: id, Key: key, Cause: cause, Digest: "d-" + id,
		Topic: topic, Partition: place.Partition, Offset: s.offsets[name],
	})
	s.offsets[name]++
	s.relay = append(s.relay, history.Line{Type: history.Acked, At: s.now(), ID: id})
}

// apply has the effect of the message, with an event of its own.
func (s *story) apply(l history.Line, child string) {
	s.rows = append(s.rows, history.Line{
		Type: history.EffectRow, ID: l.ID, Key: l.Key, To: l.To, Version: l.Version, Amount: l.Amount,
		Consumer: loyalty, Row: int64(len(s.rows)) + 1, Child: child,
	})
	s.move(loyalty, l, 1)
	s.send(child, applied, l.Key, l.ID)
}

// move moves the amount of the line so many times in the book.
func (s *story) move(book string, l history.Line, times int64) {
	s.books[book][l.Key] -= times * l.Amount
	s.books[book][l.To] += times * l.Amount
}

// check writes the story down and has it judged.
func (s *story) check(t tester, dir string) history.Verdict {
	s.write(t, dir)
	v, err := history.Check(t.Context(), dir, history.Options{})
	require.NoError(t, err)
	return v
}

// write writes the story as its processes would.
func (s *story) write(t tester, dir string) {
	half := len(s.producer) / 2
	s.log(t, filepath.Join(dir, "producer.jsonl"), "producer", s.producer[:half], `{"type":"committed","id":"e-`)
	s.log(t, filepath.Join(dir, "producer.jsonl"), "producer", s.producer[half:], `{"type":"unkn`)
	s.log(t, filepath.Join(dir, "relay.jsonl"), "relay", s.relay, "")
	s.log(t, filepath.Join(dir, "consumer.jsonl"), "consumer", s.consumer, "")
	s.log(t, filepath.Join(dir, "driver.jsonl"), "driver", s.driver, "")

	w, err := history.Dump(filepath.Join(dir, "dump.jsonl"))
	require.NoError(t, err)
	if !s.withoutLedger {
		dump(t, w, s.ledger, history.Line{Of: history.Ledger})
	}
	dump(t, w, s.outbox, history.Line{Of: history.Outbox})
	dump(t, w, s.records, history.Line{Of: history.Record})
	dump(t, w, s.kept, history.Line{Of: history.Waiting})
	dump(t, w, s.rows, s.subscription)
	dump(t, w, s.balances(), history.Line{Of: history.Balance})
	require.NoError(t, w.Close())
}

// log writes what one process has said, and its last word, which is torn.
func (s *story) log(t tester, path, role string, lines []history.Line, torn string) {
	w, err := history.Append(path, role)
	require.NoError(t, err)
	for _, l := range lines {
		require.NoError(t, w.Write(l))
	}
	require.NoError(t, w.Close())
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(torn)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

func dump(t tester, w *history.Writer, lines []history.Line, end history.Line) {
	for _, l := range lines {
		require.NoError(t, w.Write(l))
	}
	require.NoError(t, w.End(end))
}

func (s *story) balances() []history.Line {
	var all []history.Line
	for _, book := range []string{"", loyalty} {
		for k := range s.keys {
			all = append(all, history.Line{
				Type: history.Balance, Key: account(k), Amount: s.books[book][account(k)],
				Opening: opening, Consumer: book,
			})
		}
	}
	return all
}

// without returns the lines but those that match.
func without(lines []history.Line, match func(history.Line) bool) []history.Line {
	return slices.DeleteFunc(slices.Clone(lines), match)
}

// by matches the lines that name the id.
func by(id string) func(history.Line) bool {
	return func(l history.Line) bool { return l.ID == id }
}
