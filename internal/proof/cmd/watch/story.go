package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// Durations of the story, which repeats.
const (
	calm    = 10 * time.Second // time before the topic breaks first
	patient = 2 * time.Minute  // longest wait for Prometheus to observe something
	rest    = time.Minute      // time between a repair and the next break
)

// brokenTopic is the topic that the consumer refuses for a while.
const brokenTopic = "issues"

var errBroken = fmt.Errorf("%w: topic %q is missing", outbox.ErrTopicUnavailable, brokenTopic)

// refuses returns the consumer's error for a record of the broken topic, or nil.
func (s *shop) refuses(r *outbox.Record) error {
	if r.Topic == brokenTopic && s.broken.Load() {
		return outbox.Failed(outbox.FailureOutage, errBroken).Err
	}
	return nil
}

// story breaks a topic, waits for the alarms, repairs the topic, and waits until everything is normal
// again. It repeats this until ctx ends, and calls done after the first time.
func (s *shop) story(ctx context.Context, p *scraper, to io.Writer, done func()) error {
	began := time.Now()
	tell := func(format string, args ...any) {
		at := time.Since(began).Round(time.Second)
		fmt.Fprintf(to, "%02d:%02d  %s\n", int(at.Minutes()), int(at.Seconds())%60, fmt.Sprintf(format, args...))
	}
	tell("load: messages of three topics are enqueued, relayed and handled once; one key is parked")
	for pause := calm; ; pause = rest {
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
		s.broken.Store(true)
		tell("topic %s breaks: its messages are set aside, the others go on", brokenTopic)
		if err := p.until(ctx, `sum(leat_outbox_held_messages{state="retrying"}) > 0`); err != nil {
			return err
		}
		tell("they are counted as late: see the page Groups of the dashboard, and the graph")
		for _, alert := range []string{"LeatBreakerOpen", "LeatStale"} {
			if err := p.until(ctx, fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing"}`, alert)); err != nil {
				return err
			}
			tell("alarm %s: %s/alerts", alert, p.url)
		}
		s.broken.Store(false)
		tell("topic %s is repaired: nobody does anything else", brokenTopic)
		if err := p.until(ctx, `max(leat_outbox_held_messages{state="retrying"}) == 0 unless ALERTS{alertname="LeatBreakerOpen"}`); err != nil {
			return err
		}
		tell("all that waited is sent, in the order of each key; LeatStale stays until its five minutes are over")
		done()
		done = func() {}
	}
}

var errUnseen = errors.New("prometheus has not seen it")

// until waits until an expression has a value.
func (p *scraper) until(ctx context.Context, expr string) error {
	for end := time.Now().Add(patient); !p.holds(ctx, expr); {
		if time.Now().After(end) {
			return fmt.Errorf("%w within %s: %s", errUnseen, patient, expr)
		}
		if err := wait.For(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

var waits = regexp.MustCompile(`(?m)^( *(?:for|interval): )(\d+)(?:m|s)$`)

// hurried returns the alert rules with shorter waits and intervals: minutes become as many seconds, and
// seconds become one second, so that a viewer does not wait for ten minutes.
func hurried(rules []byte) []byte {
	return waits.ReplaceAllFunc(rules, func(line []byte) []byte {
		m := waits.FindSubmatch(line)
		if line[len(line)-1] == 's' {
			return fmt.Appendf(nil, "%s1s", m[1])
		}
		return fmt.Appendf(nil, "%s%ss", m[1], m[2])
	})
}
