package prover

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// Prefix begins the names of scratch places. The server's time in seconds and [Unique] follow it.
const Prefix = "leat_prove_"

// StaleAfter is the age from which a scratch place counts as abandoned.
const StaleAfter = time.Hour

// Unique distinguishes two runs in the same second.
func Unique() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// Stale reports whether the scratch place counts as abandoned. now is the server's time in seconds.
func Stale(name string, now int64) bool {
	var made int64
	_, err := fmt.Sscanf(strings.TrimPrefix(name, Prefix), "%d_", &made)
	return err == nil && now-made > int64(StaleAfter.Seconds())
}

// ClaimOnce claims ids in several sessions at the same time. effects counts the rows that were written, and the ids among them.
func ClaimOnce(t *Trial, process func(msg *message.Message) (inbox.Outcome, error), effects func() (rows, ids int)) {
	const sessions, ids = 6, 40
	began, late := time.Now(), atomic.Bool{}
	var steps []func()
	for range sessions {
		steps = append(steps, func() {
			for n := range ids {
				if time.Since(began) > probeTime/2 { // fewer ids suffice
					late.Store(true)
					return
				}
				for done := false; !done; {
					id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
					outcome, err := process(message.NewMessage(id, nil))
					done = outcome == inbox.OutcomeCommitted || outcome == inbox.OutcomeDuplicate
					if outcome != inbox.OutcomeBusy {
						fail.If(err)
					}
				}
			}
		})
	}
	t.Together(steps...)
	switch rows, got := effects(); {
	case rows > got:
		t.Broken("of %d ids that %d sessions claimed at the same time, %d had their effect more than once", ids, sessions, rows-got)
	case got != ids && !late.Load() || got == 0:
		t.Broken("of %d ids that were claimed %d had their effect", ids, got)
	}
}

// LeatCheck checks the source, and sends one message through it.
func LeatCheck(t *Trial, source driver.Source, enqueue func(m outbox.Message) error) {
	fail.If(Said("Check", source.Check(t.Context())))
	fail.If(Said("Enqueue", enqueue(outbox.Message{ID: "one", Topic: topicName, Key: "k", Payload: []byte("x")})))
	var sink topic
	r, err := relay.New(source, &sink, relay.Config{Logger: slog.New(slog.DiscardHandler)})
	fail.If(err)
	if _, err := r.RunOnce(t.Context()); err != nil {
		fail.Now(Said("relay", err))
	}
	if !sink.has("one") || len(sink.records) != 1 {
		t.Broken("a message was committed, and a relay has sent %d", len(sink.records))
	}
}
