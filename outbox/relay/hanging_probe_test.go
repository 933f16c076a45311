package relay_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// hangingLab is a lab with a sink whose calls hang if they contain a record of topic b.
type hangingLab struct {
	*lab

	hung time.Duration
}

// Send implements driver.Sink.
func (l *hangingLab) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	if !slices.ContainsFunc(records, func(r outbox.Record) bool { return r.Topic == "b" }) {
		return l.lab.Send(ctx, records)
	}
	began := time.Now()
	<-ctx.Done()
	l.hung += time.Since(began)
	results := make([]outbox.Result, len(records))
	for i := range results {
		results[i] = outbox.Failed(outbox.FailureOutage, ctx.Err())
	}
	return results
}

// TestO7_ProbesThatHang: a destination is unavailable, and its probes end only after PublishTimeout. It
// takes at most a fifth of the time of the others, even if BackoffMax is not longer than a probe.
func TestO7_ProbesThatHang(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]relay.Config{
		"defaults":      {PublishTimeout: 5 * time.Second},
		"short probes":  {PublishTimeout: 5 * time.Second, BackoffMin: time.Second, BackoffMax: 30 * time.Second},
		"short backoff": {PublishTimeout: 10 * time.Second, BackoffMax: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inLab(t, cfg, func(t *testing.T, l *lab, _ *relay.Relay, _ *recorder) { hangsAFifthOfTheTime(t, l, cfg) })
		})
	}
}

func hangsAFifthOfTheTime(t *testing.T, l *lab, cfg relay.Config) {
	t.Helper()
	const span = 500 * time.Second
	sink := &hangingLab{lab: l}
	r, err := relay.New(l.source(), sink, cfg)
	require.NoError(t, err)
	stop := lead(t, r)
	l.put("a", "k", "first") // of a relay that has read b alone nothing shows that another topic is up
	l.put("b", "k", "b")
	for i := range int(span / time.Second) {
		l.put("a", "k", strconv.Itoa(i))
		elapse(t, time.Second)
	}
	stop()
	require.GreaterOrEqual(t, sink.hung, 3*cfg.PublishTimeout, "it is probed")
	require.LessOrEqual(t, sink.hung, span/5+2*cfg.PublishTimeout)
	require.Greater(t, len(l.sent()), 350)
}
