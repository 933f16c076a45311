package keyload

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Arrival is a message that a broker received, with its sender and its event.
type Arrival struct {
	From, ID, Topic, Key, Payload string
	Headers                       map[string]string
	Event                         Event
}

// patience is how long Judge waits for the messages to arrive.
const patience = time.Minute

// Stream stands for a broker: it keeps the messages in the order of their arrival. Several senders may use
// it.
type Stream struct {
	mu  sync.Mutex
	all []Arrival
}

// Add adds an arrival.
func (s *Stream) Add(a Arrival) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.Event.ID = ""
	s.all = append(s.all, a)
}

// Len returns the number of arrivals.
func (s *Stream) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// Judge waits until all committed events have arrived, and compares the copies of each message. No event
// may be missing or invented, and copies must equal the first. The sender named once may send each message
// at most once. If ordered is true, it must send the events of a key in order. Judge returns the number of
// copies after the first.
func (s *Stream) Judge(t *testing.T, committed map[string]int64, once string, ordered bool) (repeats int) {
	t.Helper()
	var want int
	for _, n := range committed {
		want += int(n)
	}
	distinct := func() map[Event]Arrival {
		s.mu.Lock()
		defer s.mu.Unlock()
		firsts := map[Event]Arrival{}
		for _, a := range s.all {
			if _, ok := firsts[a.Event]; !ok {
				firsts[a.Event] = a
			}
		}
		return firsts
	}
	for limit := time.Now().Add(patience); len(distinct()) < want && time.Now().Before(limit); {
		every := time.NewTimer(20 * time.Millisecond)
		select {
		case <-every.C:
		case <-t.Context().Done():
		}
	}
	firsts := distinct()
	for key, n := range committed {
		for number := int64(1); number <= n; number++ {
			require.Contains(t, firsts, Event{Key: key, Number: number}, "it is lost")
		}
	}
	require.Len(t, firsts, want, "something was made up")
	last, sent := map[string]int64{}, map[Event]bool{}
	for _, a := range s.all {
		require.LessOrEqual(t, a.Event.Number, committed[a.Event.Key], "%+v was rolled back", a)
		same := a
		same.From = firsts[a.Event].From
		require.Equal(t, firsts[a.Event], same, "from %s", a.From)
		if a.From != once {
			repeats++
			continue
		}
		require.False(t, sent[a.Event], "%+v was sent twice", a)
		sent[a.Event] = true
		if ordered {
			require.Greater(t, a.Event.Number, last[a.Event.Key], "%s is out of order", a.Event.Key)
			last[a.Event.Key] = a.Event.Number
		}
	}
	t.Logf("%d messages, %d by %s, %d by others", want, len(sent), once, repeats)
	return repeats + len(sent) - want
}
