package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/report"
)

const (
	// sampleEvery is the time between two samples, and progressEvery that between two printed lines.
	sampleEvery   = time.Second
	progressEvery = 5 * time.Second
)

// gauge reads the progress of the run.
type gauge struct {
	injection *injection
	start     time.Time
	samples   []report.Sample
	last      counters
	seen      counters // the values that were read last, which may go back
}

// counters never decrease. One that cannot be read keeps its value.
type counters struct {
	at                           time.Time
	enqueued, published, effects int64
}

// grow adds to total the amount by which n exceeds seen, the previous reading. It adds nothing if n is
// lower: a log was truncated, a topic recreated or a database set back.
func grow(total, seen *int64, n int64) {
	*total += max(0, n-*seen)
	*seen = n
}

// run samples until ctx ends.
func (g *gauge) run(ctx context.Context) {
	g.last, g.seen = counters{at: time.Now()}, counters{}
	g.seen.enqueued, g.seen.effects = g.injection.stage.store.counted(ctx)
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	shown := time.Now()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		g.sample(ctx)
		if time.Since(shown) >= progressEvery {
			shown = time.Now()
			g.show()
		}
	}
}

// sample takes a sample.
func (g *gauge) sample(ctx context.Context) {
	now := g.read(ctx)
	seconds := now.at.Sub(g.last.at).Seconds()
	s := report.Sample{
		T:         now.at.Sub(g.start).Seconds(),
		Enqueued:  float64(now.enqueued-g.last.enqueued) / seconds,
		Published: float64(now.published-g.last.published) / seconds,
		Effects:   float64(now.effects-g.last.effects) / seconds,
		LagMS:     float64(g.age()),
	}
	if s.LagMS == 0 && len(g.samples) > 0 && g.waits(ctx, now) {
		s.LagMS = g.samples[len(g.samples)-1].LagMS + 1000*seconds
	}
	g.samples = append(g.samples, s)
	g.last = now
}

// waits reports whether some event has no effect yet.
func (g *gauge) waits(ctx context.Context, now counters) bool {
	ctx, cancel := context.WithTimeout(ctx, sampleEvery)
	defer cancel()
	n, err := g.injection.stage.behind(ctx, roles.Ledger, roles.TopicTransfers)
	return err != nil || n > 0 || now.enqueued > now.published
}

// read reads the sequences of the databases and the ends of the topics. Numbers that were rolled
// back count as well, which makes no visible difference in a plot.
func (g *gauge) read(ctx context.Context) counters {
	ctx, cancel := context.WithTimeout(ctx, sampleEvery)
	defer cancel()
	st := g.injection.stage
	c := g.last
	c.at = time.Now()
	enqueued, effects := st.store.counted(ctx)
	if enqueued >= 0 {
		grow(&c.enqueued, &g.seen.enqueued, enqueued)
	}
	if effects >= 0 {
		grow(&c.effects, &g.seen.effects, effects)
	}
	ends, err := kadm.NewClient(st.client).ListEndOffsets(ctx, roles.TopicTransfers, roles.TopicNotices)
	if err == nil && ends.Error() == nil {
		sum := int64(0)
		ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
		grow(&c.published, &g.seen.published, sum)
	}
	return c
}

// age returns the age of the oldest event that had its effect since the last call.
func (g *gauge) age() (age int64) {
	for _, p := range g.injection.processes.of(roles.Ledger) {
		p.mu.Lock()
		age = max(age, p.age)
		p.age = 0
		p.mu.Unlock()
	}
	return age
}

// show prints a line of progress.
func (g *gauge) show() {
	injected, counted, points := g.injection.tally.figures()
	last := g.samples[len(g.samples)-1]
	fmt.Fprintf(g.injection.stage.options.Out,
		"%6s  %7d enqueued  %7d published  %7d effects  lag %5.0f ms  faults %d injected, %d count, %d points\n",
		time.Since(g.start).Round(time.Second), g.last.enqueued, g.last.published, g.last.effects, last.LagMS,
		injected, counted, points)
}
