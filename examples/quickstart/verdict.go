package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// verdict is the result of the checker. As JSON it is the last line of a run.
type verdict struct {
	// Committed and RolledBack are the ingest service's transactions.
	Committed  int `json:"committed"`
	RolledBack int `json:"rolled_back"`
	// Published is the number of records in the topic, copies included.
	Published int `json:"published"`
	// DuplicatesSeen is how many deliveries the consumer acknowledged beyond the
	// first of each event.
	DuplicatesSeen int `json:"duplicates_seen"`
	// Effects is how often an event took effect.
	Effects int `json:"effects"`

	// Lost, Double, Phantom and OutOfOrder are the violations.
	Lost       int `json:"lost"`
	Double     int `json:"double"`
	Phantom    int `json:"phantom"`
	OutOfOrder int `json:"out_of_order"`

	// CalmP50 and CalmP99 are milliseconds from commit to first effect in the calm
	// phase, P50 and P99 in the whole run.
	CalmP50 float64 `json:"calm_p50_ms"`
	CalmP99 float64 `json:"calm_p99_ms"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`

	derived                  int // records in the consumer's own topic
	crashCopies, meantCopies int // of Published: by the crash, by the duplicator
}

func (v *verdict) clean() bool {
	return v.Lost == 0 && v.Double == 0 && v.Phantom == 0 && v.OutOfOrder == 0
}

// repeats distinguishes the copies that the duplicator made from those of the relays.
func (v *verdict) repeats(h history, published map[string]int) {
	for id := range published {
		if oneIn(copyShare, id) {
			v.meantCopies++
		}
	}
	v.crashCopies = len(h.topic) - len(published) - v.meantCopies
}

// print writes a table for human readers and then the line of JSON.
func (v *verdict) print(w io.Writer) error {
	var b strings.Builder
	row := func(value, text string) { fmt.Fprintf(&b, "%11s  %s\n", value, text) }
	count := func(n int, text string) { row(thousands(int64(n)), text) }
	rule := func(n int, text string) {
		mark := "ok      "
		if n != 0 {
			mark = "VIOLATED"
		}
		row(thousands(int64(n)), mark+"  "+text)
	}
	latency := func(p50, p99 float64, text string) {
		row(fmt.Sprintf("%.0f ms", p50), fmt.Sprintf("from commit to effect in the median, %.0f ms in the 99th percentile, %s", p99, text))
	}
	b.WriteString("\nwhile it was calm\n")
	latency(v.CalmP50, v.CalmP99, fmt.Sprintf("%d events at %d a second", calmEvents-warmEvents, calmRate))
	b.WriteString("\nwhat happened\n")
	count(v.Committed, "transactions committed, each with one event")
	count(v.RolledBack, "transactions rolled back after they had enqueued theirs")
	count(v.Published, fmt.Sprintf("records in the topic; %s are copies on purpose, %s by the relay's crash",
		thousands(int64(v.meantCopies)), thousands(int64(v.crashCopies))))
	count(v.DuplicatesSeen, "repeats delivered to the consumer")
	count(v.Effects, "effects in the consumer's database")
	count(v.derived, "events of the consumer's own in its topic")
	latency(v.P50, v.P99, "crash included")
	b.WriteString("\nwhat must not\n")
	rule(v.Lost, "lost: committed, and missing in the topic, the effects or the consumer's events")
	rule(v.Double, "double: effects, or events of the consumer's, beyond one per event")
	rule(v.Phantom, "phantom: published or in effect, and never committed")
	rule(v.OutOfOrder, "out of order: first occurrences behind a later commit of their key")
	b.WriteString("\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(v)
}

// milliseconds rounds to tenths.
func milliseconds(d time.Duration) float64 {
	return math.Round(float64(d)/float64(time.Millisecond)*10) / 10
}
