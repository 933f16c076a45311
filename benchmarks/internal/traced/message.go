// Package traced measures how long single messages spend in each stage between the moment at which they
// are due and the broker's acknowledgement.
package traced

import (
	"cmp"
	"slices"
	"time"

	"github.com/leat-go/leat/benchmarks/internal/compare"
)

// Stage is a part of a message's path.
type Stage int

// The stages, in order. Each one begins where the previous one ends.
const (
	// Commit ends with the answer to the message's commit. It includes the delay of a client that is late
	// because its previous message was slow.
	Commit Stage = iota
	// Wait ends when the relay begins the read that finds the message. It is 0 if the read began before the
	// answer to the commit had arrived.
	Wait
	// Window is the part of that read before the statement that returns the message.
	Window
	// Page is that statement, until its rows are received.
	Page
	// Queue ends when the sink is called. In this time another page is being sent.
	Queue
	// Send is the call of the sink, until the broker's answer.
	Send
	// Stages is the number of stages.
	Stages
)

// String returns the stage's name.
func (s Stage) String() string {
	return [Stages]string{"commit", "wait", "window", "page", "queue", "send"}[s]
}

// Message is the path of one message. Ends are the ends of the stages, measured from the moment at which
// the message was due.
type Message struct {
	Number int
	Ends   [Stages]time.Duration
}

// Total returns the total time.
func (m Message) Total() time.Duration { return m.Ends[Stages-1] }

// Took returns the duration of a stage. Clocks are read on several goroutines, so a stage can seem to end
// before its predecessor. Its duration is 0 then.
func (m Message) Took(s Stage) time.Duration {
	var before time.Duration
	for _, end := range m.Ends[:s] {
		before = max(before, end)
	}
	return max(m.Ends[s]-before, 0)
}

// Slowest returns the slowest hundredth of messages, but at least one, with the slowest first.
func Slowest(messages []Message) []Message {
	sorted := slices.SortedFunc(slices.Values(messages), func(a, b Message) int { return cmp.Compare(b.Total(), a.Total()) })
	return sorted[:min(len(sorted), max(len(sorted)/100, 1))]
}

// Medians returns the median duration of each stage.
func Medians(messages []Message) (medians [Stages]time.Duration) {
	for s := range Stages {
		var all []float64
		for _, m := range messages {
			all = append(all, float64(m.Took(s)))
		}
		medians[s] = time.Duration(compare.Median(all))
	}
	return medians
}
