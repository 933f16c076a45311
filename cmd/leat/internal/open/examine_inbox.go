package open

import (
	"fmt"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/inbox/pginbox"
)

// Covers compares how long the inbox has remembered messages with how long they can be delivered again, by
// a topic with the retention topic or by a replay of an outbox; 0: not known, negative: for ever.
func Covers(remembered, topic, replay time.Duration) []doctor.Finding {
	err := pginbox.RetentionNeeds{Topic: topic, Replay: replay}.Check(remembered)
	if err == nil {
		return nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Warn, Text: fmt.Sprintf("the inbox remembers %s: topics are kept for %s, the outbox for %s", remembered, span(topic), span(replay)),
		Advice: "raise Retention of the inbox's maintenance: what comes again later is too old, and waits for an operator",
	}}
}

// span is d in words.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "ever"
	case d == 0:
		return "a time that nobody has told"
	default:
		return d.String()
	}
}
