package redisdedupe_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/testenv"
)

// envPayer makes this test binary a consumer that charges a card: the API's URL,
// the address of Redis and the prefix of the keys.
const envPayer = "LEAT_TEST_PAYER"

// api counts charges and calls by idempotency key, without suppressing any.
type api struct {
	slow  bool // the first call hangs until its caller is gone
	mu    sync.Mutex
	calls map[string]int
}

func (a *api) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	if a.call(r.Header.Get("Idempotency-Key")) == 1 && a.slow {
		<-r.Context().Done()
	}
}

func (a *api) call(key string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[key]++
	return a.calls[key]
}

// payer delivers one message until it is acknowledged, or the process is ended.
func payer(ctx context.Context, settings string) error {
	parts := strings.Split(settings, " ")
	client := redis.NewClient(&redis.Options{Addr: parts[1]})
	defer func() { _ = client.Close() }()
	store, err := redisdedupe.New(client, redisdedupe.Config{Prefix: parts[2]})
	if err != nil {
		return err
	}
	p, err := dedupe.New(store, "billing", dedupe.Config{Lease: 500 * time.Millisecond, BusyDelay: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	defer http.DefaultClient.CloseIdleConnections()
	for {
		_, err := p.Do(ctx, dedupe.Message{ID: "order-1"}, func(ctx context.Context) ([]byte, error) {
			return dedupe.Step(ctx, "charge", func(ctx context.Context, call dedupe.StepCall) ([]byte, error) {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, parts[0], nil)
				if err != nil {
					return nil, err
				}
				req.Header.Set("Idempotency-Key", call.IdempotencyKey)
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					return nil, err
				}
				return nil, res.Body.Close()
			})
		})
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// TestD6_StepThroughCrashes ends a consumer's process at every point of the
// message and of its step, and lets another one go on. The card is charged under
// one key alone, so once; the call is repeated only where the process died between
// the call and the record of its result.
func TestD6_StepThroughCrashes(t *testing.T) {
	t.Parallel()
	if settings := os.Getenv(envPayer); settings != "" {
		require.NoError(t, payer(t.Context(), settings))
		return
	}
	env := testenv.Redis(t)
	for point, calls := range map[string]int{
		string(failpoint.DedupeClaimReplyLost) + "=exit@1":    1, // of the message
		string(failpoint.DedupeClaimReplyLost) + "=exit@2":    1, // of the step
		string(failpoint.DedupeLoseP) + "=exit@2":             1, // the step is claimed
		string(failpoint.DedupePausePastLease) + "=exit@1":    2, // the card is charged
		string(failpoint.DedupeCompleteReplyLost) + "=exit@1": 1, // the step is done
		string(failpoint.DedupePausePastLease) + "=exit@2":    1,
		string(failpoint.DedupeCompleteReplyLost) + "=exit@2": 1, // the message is done
		string(failpoint.DedupeLoseD) + "=exit@2":             1,
		string(failpoint.DedupeEvict) + "=exit@2":             1,
		string(failpoint.DedupeClockJump) + "=exit@2":         1,
		string(failpoint.DedupeExtendFail) + "=exit@1":        2, // the card is being charged
		string(failpoint.DedupeExtendFail) + "=panic@1":       2, // on a goroutine that nobody catches
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			a := &api{calls: map[string]int{}, slow: strings.HasPrefix(point, string(failpoint.DedupeExtendFail))}
			status := failpointtest.ExitStatus
			if strings.Contains(point, "=panic") {
				status = 2
			}
			server := httptest.NewServer(a)
			defer server.Close()
			start := func(points string) ([]byte, error) {
				child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestD6_StepThroughCrashes$")
				child.Env = append(os.Environ(), envPayer+"="+server.URL+" "+env.Addr+" "+env.Prefix+point+":", failpointtest.EnvPoints+"="+points)
				return child.CombinedOutput()
			}
			output, err := start(point)
			exit, ok := errors.AsType[*exec.ExitError](err)
			require.True(t, ok, "%s", output)
			require.Equal(t, status, exit.ExitCode(), "%s", output)
			for range 2 {
				output, err = start("")
				require.NoError(t, err, "%s", output)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			require.Len(t, a.calls, 1, "one key")
			for _, n := range a.calls {
				require.Equal(t, calls, n)
			}
		})
	}
}
