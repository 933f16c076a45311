package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

//leat:level 4
func TestMain(m *testing.M) {
	testenv.Supervise()
	testenv.Main(m)
}

// told lists the events of the story, in this order.
var told = []string{
	"dashboard   http://", "metrics     http://", "Prometheus  http://", "load: messages of three topics are enqueued, relayed and handled once",
	"topic issues breaks: ", "they are counted as late", "alarm LeatBreakerOpen: ", "alarm LeatStale: ", "topic issues is repaired: ", "all that waited is sent",
	"Prometheus has scraped leat's metrics, and loaded its rules: ",
}

// The story of make watch is told to its end, its pages show it, and by then every panel of the Grafana
// dashboard has drawn something. A shop without Kafka, a router and deduplicators has no such events, so
// the test calls their hooks itself.
func TestWatch(t *testing.T) {
	t.Parallel()
	_, err := testenv.Prometheus(t.Context())
	testenv.Available(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	lines, to := io.Pipe()
	defer lines.Close()
	o := options{lasts: 5 * time.Minute, rules: "../../../../docs/metrics/alerts.yml", rate: 50, server: testenv.Postgres(t).URL, to: to, also: elsewhere}
	ended := make(chan error, 1)
	go func() {
		ended <- watch(ctx, o)
		_ = to.Close()
	}()
	var all []string
	next, pages := 0, map[string]string{}
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		line := scanner.Text()
		all = append(all, line)
		require.NotContains(t, line, "nothing to draw:")
		if next < len(told) && strings.Contains(line, told[next]) {
			next++
		}
		if name, address, ok := strings.Cut(line, "http://"); ok && len(pages) < 4 {
			pages[strings.TrimSpace(name)] = "http://" + address
		}
		switch {
		case strings.Contains(line, "alarm LeatBreakerOpen"):
			require.Contains(t, shows(t, pages["dashboard"]), "The destination of shop / default does not take 1 topic")
			require.Contains(t, shows(t, pages["dashboard"]+"retried"), "topic &#34;issues&#34; is missing")
			require.Contains(t, shows(t, pages["metrics"]), `leat_relay_breaker_open{group="default",outbox="shop",topic="issues"} 1`)
			require.Contains(t, shows(t, pages["Prometheus"]), "<html")
		case next == len(told):
			cancel()
		}
	}
	require.Equal(t, len(told), next, "%q is missing in\n%s", told[min(next, len(told)-1)], strings.Join(all, "\n"))
	require.ErrorIs(t, <-ended, context.Canceled)
}

// shows returns the content of a page.
func shows(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode, address)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

// elsewhere calls the hooks with what happens in other services.
func elsewhere(ctx context.Context, s *shop) {
	source, consumers := s.metrics.Source(), s.metrics.Consumers("billing")
	handle := consumers.Middleware(func(*message.Message) ([]*message.Message, error) { return nil, nil })
	for wait.For(ctx, 200*time.Millisecond) == nil {
		source.OnDriverSource(ctx, inboxdriver.SourceEvent{Group: "billing", Topic: "orders", Kind: "assigned", Deleted: 1, WentBack: 1})
		source.OnDriverSource(ctx, inboxdriver.SourceEvent{Group: "billing", Topic: "orders", Kind: "acked"})
		consumers.OnDedupeDelivery(ctx, dedupe.DeliveryEvent{Key: dedupe.Key{Consumer: "billing"}, Outcome: dedupe.OutcomeRan})
		consumers.OnTwotierLook(ctx, twotier.LookEvent{Consumer: "billing"})
		s.maintenance.OnOutboxAlarm(ctx, outbox.AlarmEvent{Package: "pgoutbox", Kind: pgoutbox.AlarmHistoryPinned})
		_, _ = handle(message.NewMessage("order-1", nil))
	}
}
