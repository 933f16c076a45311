package relay_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestConfig_Invalid: errors name the field and its value, and the other value if two conflict.
func TestConfig_Invalid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  relay.Config
		want []string
	}{
		"page size":       {relay.Config{PageSize: -1}, []string{"PageSize", "-1", "100000"}},
		"large page":      {relay.Config{PageSize: 100_001}, []string{"PageSize", "100001"}},
		"page bytes":      {relay.Config{PageBytes: 1000}, []string{"PageBytes", "1000", "1024"}},
		"large bytes":     {relay.Config{PageBytes: 1<<30 + 1}, []string{"PageBytes", "1073741825", "1073741824"}},
		"read-ahead":      {relay.Config{ReadAhead: -2}, []string{"ReadAhead", "-2"}},
		"far read-ahead":  {relay.Config{ReadAhead: 65}, []string{"ReadAhead", "65", "64"}},
		"lease":           {relay.Config{Lease: -1}, []string{"Lease", "-1ns"}},
		"publish timeout": {relay.Config{PublishTimeout: -1}, []string{"PublishTimeout", "-1ns"}},
		"margin":          {relay.Config{LeaseMargin: -1}, []string{"LeaseMargin", "-1ns"}},
		"no topic":        {relay.Config{AllowedTopics: []string{"a", ""}}, []string{"AllowedTopics[1]", `""`}},
		"odd topic":       {relay.Config{AllowedTopics: []string{"a\x00"}}, []string{"AllowedTopics[0]", `"a\x00"`}},
		"many topics":     {relay.Config{AllowedTopics: make([]string, 1001)}, []string{"AllowedTopics", "1001 patterns", "1000"}},
		"poll":            {relay.Config{PollMin: -1}, []string{"PollMin", "-1ns"}},
		"backoff":         {relay.Config{BackoffMin: -1}, []string{"BackoffMin", "-1ns"}},
		"drain":           {relay.Config{DrainTimeout: -1}, []string{"DrainTimeout", "-1ns"}},
		"slo":             {relay.Config{SLO: -1}, []string{"SLO", "-1ns"}},
		"max held":        {relay.Config{MaxHeld: -1}, []string{"MaxHeld", "-1", "100000000"}},
		"suspect keys":    {relay.Config{SuspectKeys: 1}, []string{"SuspectKeys", "1", "2 to 1000"}},
		"action": {
			relay.Config{Policies: []relay.Policy{{}, {Action: 9}}},
			[]string{"Policies[1].Action", "Action(9)"},
		},
		"attempts": {relay.Config{Policies: []relay.Policy{{Attempts: -1}}}, []string{"Policies[0].Attempts", "-1", "1000000"}},
		"total order that parks": {
			relay.Config{TotalOrder: true, Policies: []relay.Policy{{Action: relay.Block}, {Topics: "x"}}},
			[]string{"Policies[1].Action", "park", "must be block where the order is total"},
		},
		"short lease": {
			relay.Config{Lease: 8 * time.Second, PublishTimeout: 7 * time.Second, LeaseMargin: time.Second},
			[]string{"Lease", "8s", "PublishTimeout 7s", "LeaseMargin 1s"},
		},
		"short lease against defaults": {relay.Config{Lease: 6 * time.Second}, []string{"6s", "5s", "1s"}},
		"poll bounds":                  {relay.Config{PollMin: 2 * time.Second, PollMax: time.Second}, []string{"PollMax", "1s", "the shortest wait, 2s"}},
		"poll bounds against defaults": {relay.Config{PollMax: time.Millisecond}, []string{"PollMax", "1ms", "2ms"}},
		"backoff bounds":               {relay.Config{BackoffMin: time.Minute}, []string{"BackoffMax", "5s", "the shortest wait, 1m0s"}},
		"hook":                         {relay.Config{Hooks: []outbox.Hook{&recorder{}, "x"}}, []string{"Hooks[1]", "string"}},
		"nil hook":                     {relay.Config{Hooks: []outbox.Hook{nil}}, []string{"Hooks[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := relay.New(newFakeLog(0).source(), takesAll(0), c.cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	_, err := relay.New(nil, takesAll(0), relay.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "source")
	_, err = relay.New(newFakeLog(0).source(), nil, relay.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "sink")
	_, err = relay.New(newFakeLog(0).source(), takesAll(0), relay.Config{
		PageSize: 100_000, PageBytes: 1 << 30, ReadAhead: relay.NoReadAhead, Hooks: []outbox.Hook{&recorder{}},
	})
	require.NoError(t, err)
}
