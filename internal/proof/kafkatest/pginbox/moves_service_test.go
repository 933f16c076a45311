package pginbox_test

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox/relay"
)

// service is a world whose parts are stopped, and started again where docs/moves.md says.
type service struct {
	*world

	upkeep func(ctx context.Context) error // maintenance, which stops with the rest
	start  func()                          // maintenance, a relay, and the consumer that does not lag, under redelivery
	late   func()                          // the consumer that is far behind
	parks  bool                            // consumers park messages
}

// opened leaves the maintenance of a store to the service.
func (s *service) opened(st store) store {
	s.upkeep = st.maintain
	st.maintain = func(ctx context.Context) error { <-ctx.Done(); return nil }
	return st
}

// onKafka relays to Kafka. Two groups of one consumer read from there, so that each message comes twice.
func (s *service) onKafka(cfg relay.Config, m manner) {
	s.parks = m.OnFailure.Action == inbox.Park
	s.start = func() {
		s.keepUp()
		s.relay(group{}, cfg, s.sink())
		for _, name := range prompt {
			s.consume(s.kafkasource(name), "prompt", m, "billed")
		}
	}
	s.late = func() { s.consume(s.kafkasource("late"), "late", m, "shipped") }
}

// prompt are the groups of the consumer that does not lag.
var prompt = []string{"prompt", "again"}

// keepUp runs the maintenance until the relays are stopped.
func (s *service) keepUp() {
	if s.upkeep == nil { // DynamoDB needs none
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, upkeep := make(chan error, 1), s.upkeep
	go func() { ended <- upkeep(ctx) }()
	s.relays = append(s.relays, sync.OnceValue(func() error { cancel(); return <-ended }))
}

// move lets the service work until it has everything that a move can lose, and moves it. Then it goes on, and the group that is far
// behind reads everything. The move stops the producers.
func (s *service) move(name string, steps func()) {
	s.t.Helper()
	s.repeats = true
	s.refuses.Store(true)
	s.sick = "/k4/"
	s.fails.Store(s.parks)
	s.start()
	s.parked()
	if s.parks {
		s.inboxParked("prompt", 3)
	}
	s.effects("billed")
	_, err := s.commit(s.orders, "", 15*time.Second)
	require.NoError(s.t, err)
	s.sending.begin()
	steps()
	s.startWriting()
	s.progress(20)
	still := s.sending.end()
	s.effects("billed")
	s.fails.Store(false)
	s.late()
	s.effects("shipped")
	s.rest()
	wrong := s.judge()
	s.tell(name, still, wrong)
	require.Empty(s.t, wrong)
}

// tell logs what a run has shown.
func (s *service) tell(name string, still time.Duration, wrong []string) {
	s.t.Helper()
	effects, sent := 0, map[string]bool{}
	for table := range s.judged {
		effects += len(s.effectsIn(table))
	}
	all, _ := s.sent()
	for _, id := range all {
		sent[id] = true
	}
	s.t.Logf("%s: %d committed, %d sent again, %d effects, %d deliveries recognised, %d lost, %d doubled, %d out of order, nothing sent for %s",
		name, len(s.written), len(all)-len(sent), effects, s.again.Load(), ofKind(wrong, "lost"), ofKind(wrong, "doubled"), ofKind(wrong, "out of order"), still.Round(100*time.Millisecond))
}

// ofKind returns how many of the judge's findings begin with kind.
func ofKind(wrong []string, kind string) (n int) {
	for _, w := range wrong {
		if strings.HasPrefix(w, kind) {
			n++
		}
	}
	return n
}

// stop stops producers, consumers, relays and maintenance.
func (s *service) stop() {
	s.t.Helper()
	s.stopWriting()
	s.stopConsumers()
	s.stopRelays()
}

func (s *service) stopConsumers() {
	for _, c := range s.consumers {
		c.stop()
	}
	s.consumers = nil
}

func (s *service) stopRelays() {
	s.t.Helper()
	s.stopped(s.relays...)
	s.relays = nil
}

// allSent waits until status shows a lag of 0 and nothing retried.
func (s *service) allSent() {
	s.t.Helper()
	s.await("a lag of 0, and nothing retried", func() bool { return s.backlog() == 0 && s.stats().Retrying == 0 })
}

// excuse takes out of what was committed what the database has lost and has not sent. Nothing must be on its way.
func (s *service) excuse(kept map[string]bool) {
	s.t.Helper()
	ids, _ := s.sent()
	sent, lost := map[string]bool{}, 0
	for _, id := range ids {
		sent[id] = true
	}
	for id := range s.written {
		if kept[id] {
			continue
		}
		lost++
		if !sent[id] {
			delete(s.written, id)
		}
	}
	require.NotZero(s.t, lost, "the database went back")
	s.t.Logf("the database has lost %d messages", lost)
}

// OnInboxDelivery implements inbox.DeliveryHook.
func (w *world) OnInboxDelivery(_ context.Context, d inbox.DeliveryEvent) {
	if d.Outcome == inbox.OutcomeDuplicate {
		w.again.Add(1)
	}
}

// OnDedupeDelivery implements dedupe.DeliveryHook.
func (w *world) OnDedupeDelivery(_ context.Context, d dedupe.DeliveryEvent) {
	if d.Outcome == dedupe.OutcomeDuplicate {
		w.again.Add(1)
	}
}

// stretch is the longest time without an event.
type stretch struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
}

func (s *stretch) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.longest = time.Now(), 0
}

// seen notes an event.
func (s *stretch) seen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, time.Since(s.last))
	s.last = time.Now()
}

func (s *stretch) end() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.longest
}
