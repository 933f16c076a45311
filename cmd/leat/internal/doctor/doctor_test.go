package doctor_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestClock(t *testing.T) {
	t.Parallel()
	for offset, want := range map[time.Duration]doctor.Verdict{
		0: doctor.OK, 250 * time.Millisecond: doctor.OK, -251 * time.Millisecond: doctor.Warn,
		time.Second: doctor.Warn, -time.Second - 1: doctor.Fail, time.Hour: doctor.Fail,
	} {
		require.Equal(t, want, doctor.Clock(offset, time.Millisecond), offset)
	}
}

// What is within the round trip is not judged.
func TestClock_RoundTrip(t *testing.T) {
	t.Parallel()
	require.Equal(t, doctor.Unknown, doctor.Clock(-600*time.Millisecond, time.Second))
	require.Equal(t, doctor.Unknown, doctor.Clock(2*time.Second, 3*time.Second))
	require.Equal(t, doctor.Unknown, doctor.Clock(0, time.Second))
	require.Equal(t, doctor.Warn, doctor.Clock(600*time.Millisecond, 300*time.Millisecond))
	require.Equal(t, doctor.OK, doctor.Clock(200*time.Millisecond, 200*time.Millisecond))
}

// A check tells twenty of a thousand, the worst first, and counts the others.
func TestExamine_Many(t *testing.T) {
	t.Parallel()
	all, err := doctor.Examine(t.Context(), []doctor.Check{{Name: "kafka.topics", Run: func(context.Context) (found []doctor.Finding, _ error) {
		for i := range 1000 {
			verdict := doctor.Warn
			if i%40 == 39 {
				verdict = doctor.Fail
			}
			found = append(found, doctor.Finding{Verdict: verdict, Text: "topic " + strconv.Itoa(i)})
		}
		return found, nil
	}}}, "")
	require.NoError(t, err)
	require.Len(t, all, 21)
	require.Equal(t, doctor.Finding{Check: "kafka.topics", Verdict: doctor.Fail, Text: "topic 39"}, all[0])
	require.Equal(t, doctor.Finding{Check: "kafka.topics", Verdict: doctor.Fail, Text: "980 others, such as topic 839"}, all[20])
}

// An error of several lines becomes one.
func TestExamine_Lines(t *testing.T) {
	t.Parallel()
	failed := errors.Join(errors.New("failed to connect:\n\t127.0.0.1: refused"), errors.New("closed"))
	all, err := doctor.Examine(t.Context(), []doctor.Check{{Name: "clock", Run: func(context.Context) ([]doctor.Finding, error) { return nil, failed }}}, "")
	require.NoError(t, err)
	require.Equal(t, []doctor.Finding{{Check: "clock", Verdict: doctor.Unknown, Text: "failed to connect: 127.0.0.1: refused; closed"}}, all)
}

// What cannot be looked at is unknown, and never ok.
func TestExamine(t *testing.T) {
	t.Parallel()
	checks := []doctor.Check{
		{Name: "a.well", Run: func(context.Context) ([]doctor.Finding, error) { return nil, nil }},
		{Name: "a.denied", Run: func(context.Context) ([]doctor.Finding, error) { return nil, errors.New("permission denied") }},
		{Name: "b.ill", Run: func(context.Context) ([]doctor.Finding, error) {
			return []doctor.Finding{{Verdict: doctor.Warn, Text: "one"}, {Verdict: doctor.Fail, Text: "two"}}, nil
		}},
	}
	all, err := doctor.Examine(t.Context(), checks, "")
	require.NoError(t, err)
	require.Equal(t, []doctor.Finding{
		{Check: "a.well", Verdict: doctor.OK},
		{Check: "a.denied", Verdict: doctor.Unknown, Text: "permission denied"},
		{Check: "b.ill", Verdict: doctor.Warn, Text: "one"},
		{Check: "b.ill", Verdict: doctor.Fail, Text: "two"},
	}, all)
	require.True(t, doctor.Bad(all, false))
	some, err := doctor.Examine(t.Context(), checks, "a.*")
	require.NoError(t, err)
	require.Equal(t, all[:2], some)
	require.False(t, doctor.Bad(some, false))
	require.True(t, doctor.Bad(some, true), "unknown")
	require.False(t, doctor.Bad(some[:1], true))
	_, err = doctor.Examine(t.Context(), checks, "[")
	require.Error(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = doctor.Examine(ended, checks, "")
	require.ErrorIs(t, err, context.Canceled)
}

// Servers before 14 are told, later ones are not.
func TestSupported(t *testing.T) {
	t.Parallel()
	require.False(t, doctor.Supported(130022))
	require.True(t, doctor.Supported(140000))
	require.True(t, doctor.Supported(180001))
}

// Ages are judged by what the server stops at.
func TestAge(t *testing.T) {
	t.Parallel()
	const limit = int64(1) << 31
	for age, want := range map[int64]doctor.Verdict{
		0: doctor.OK, 200_000_000: doctor.OK, limit / 2: doctor.OK, limit/2 + 1: doctor.Warn, limit / 5 * 4: doctor.Warn, limit/5*4 + 1: doctor.Fail, limit: doctor.Fail,
	} {
		require.Equal(t, want, doctor.Age(age), age)
	}
}
