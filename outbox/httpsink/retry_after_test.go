package httpsink_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
)

// TestRetryAfter_IsKept: whatever the relay does meanwhile, the endpoint is left alone.
func TestRetryAfter_IsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		header func() string
		want   time.Duration
		off    time.Duration // the endpoint's clock
	}{
		"seconds":           {503, func() string { return "90" }, 90 * time.Second, 0},
		"date":              {429, func() string { return dated(2 * time.Minute) }, 2 * time.Minute, 0},
		"date, other clock": {429, func() string { return dated(32 * time.Minute) }, 2 * time.Minute, 30 * time.Minute},
		"bounded":           {503, func() string { return "99999999999999999999999" }, time.Hour, 0},
		"nonsense":          {503, func() string { return "soon" }, 0, 0},
		"in the past":       {503, func() string { return "Fri, 01 Jan 1999 15:04:05 GMT" }, 0, 0},
		"of the record":     {422, func() string { return "90" }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var calls []time.Time
				s := fake(t, httpsink.Endpoint{}, httpsink.Config{}, func(*http.Request) (*http.Response, error) {
					calls = append(calls, time.Now())
					if len(calls) == 1 {
						return answered(c.status, http.Header{"Retry-After": {c.header()}, "Date": {dated(c.off)}}), nil
					}
					return answered(200, nil), nil
				})
				began := time.Now()
				for range 100_000 {
					result := s.Send(t.Context(), []outbox.Record{record(1, "a")})[0]
					if result.Err == nil {
						break
					}
					if len(calls) == 1 && c.want > 0 && time.Since(began) > 0 {
						require.ErrorContains(t, result.Err, "asked to wait until")
						require.Equal(t, outbox.FailureOutage, outbox.KindOf(result.Err))
					}
					require.NoError(t, wait.For(t.Context(), time.Second))
				}
				require.Len(t, calls, 2)
				require.Equal(t, max(c.want, time.Second), calls[1].Sub(began))
			})
		})
	}
}

// dated is a date of HTTP, so long from now.
func dated(from time.Duration) string { return time.Now().Add(from).UTC().Format(http.TimeFormat) }

// TestO8_ClocksThatDiffer: an endpoint refuses what is signed with another time than its own. That is not the record's fault.
func TestO8_ClocksThatDiffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var header http.Header
		s := fake(t, httpsink.Endpoint{}, httpsink.Config{}, func(*http.Request) (*http.Response, error) {
			return answered(http.StatusBadRequest, header), nil
		})
		for off, want := range map[time.Duration]outbox.FailureKind{
			0: outbox.FailurePermanent, 4 * time.Minute: outbox.FailurePermanent,
			-time.Hour: outbox.FailureOutage, 30 * 24 * time.Hour: outbox.FailureOutage,
		} {
			header = http.Header{"Date": {dated(off)}}
			err := s.Send(t.Context(), []outbox.Record{record(1, "a")})[0].Err
			require.Equal(t, want, outbox.KindOf(err), off)
			if want == outbox.FailureOutage {
				require.ErrorContains(t, err, "its clock is off this process's by")
			}
		}
		header = nil
		err := s.Send(t.Context(), []outbox.Record{record(1, "a")})[0].Err
		require.Equal(t, outbox.FailurePermanent, outbox.KindOf(err), "it does not say what its clock says")
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"0": 0, " 7 ": 7 * time.Second, "Fri, 02 Jan 2026 03:05:05 GMT": time.Minute,
		"Friday, 02-Jan-26 03:05:05 GMT": time.Minute, "Fri Jan  2 03:05:05 2026": time.Minute, "Thu, 01 Jan 2026 03:05:05 GMT": 0,
	} {
		got, ok := httpsink.RetryAfter(text, now)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", " ", "-1", "1.5", "1s", "tomorrow", "+3"} {
		_, ok := httpsink.RetryAfter(text, now)
		require.False(t, ok, text)
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, text := range []string{"", "1", "99999999999999999999", "Fri, 02 Jan 2026 03:05:05 GMT", "-1"} {
		f.Add(text)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := httpsink.RetryAfter(text, now)
		require.GreaterOrEqual(t, got, time.Duration(0))
		if !ok {
			require.Zero(t, got)
		}
		if digits := strings.Trim(text, "0123456789"); digits == "" && text != "" && len(text) < 8 {
			var want int
			_, err := fmt.Sscan(strings.TrimLeft(text, "0")+"", &want)
			require.True(t, ok)
			if err == nil {
				require.Equal(t, time.Duration(want)*time.Second, got)
			}
		}
	})
}
