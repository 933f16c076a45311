package sqloutbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConfigIsRefused(t *testing.T) {
	t.Parallel()
	for field, cfg := range map[string]Config{
		"Table": {Table: "a b"}, "MaxPayloadBytes": {MaxPayloadBytes: -1}, "Hooks[0]": {Hooks: []outbox.Hook{1}},
	} {
		_, err := Migrations(outbox.MySQL, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
	_, err := Migrations("oracle", Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = New(nil, outbox.MySQL, Config{})
	require.ErrorContains(t, err, "db")
	_, err = NewMaintenance(nil, MaintenanceConfig{})
	require.ErrorContains(t, err, "ob")

	ob := &Outbox{}
	for field, cfg := range map[string]MaintenanceConfig{
		"Interval": {Interval: -1}, "DeleteChunk": {DeleteChunk: -1}, "KeepAudit": {KeepAudit: -1}, "KeepDead": {KeepDead: -1}, "DelayedPoll": {DelayedPoll: 1},
	} {
		_, err := NewMaintenance(ob, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
	for field, cfg := range map[string]SourceConfig{
		"Group": {Group: "_x"}, "Topics[1]": {Topics: []string{"a", ""}}, "Start = now": {Start: driver.Start{Now: true, At: time.Now()}},
	} {
		_, err := ob.Source(cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
	for field, cfg := range map[string]HistoryConfig{"FromSeq": {FromSeq: -1}, "Keys[0]": {Keys: []string{""}}} {
		_, err := ob.History(cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
}
