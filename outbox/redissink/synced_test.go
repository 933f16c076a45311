package redissink_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/redissink"
	"github.com/leat-go/leat/outbox/sinktest"
)

// everySecond are the settings of a server that answers before a write is on disk.
func everySecond() map[string]string {
	return map[string]string{"appendonly": "yes", "appendfsync": "everysec"}
}

// TestO2_Synced: a server that answers before a write is on disk, and can tell when it is, is asked
// for that. What it does not confirm in time is an outage.
//
//leat:level 4
func TestO2_Synced(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "fetches a server")
	addr := testenv.PrivateValkey(t, everySecond()).Addr
	client := connect(t, addr)
	waits := func() int {
		info, err := client.InfoMap(t.Context(), "commandstats").Result()
		require.NoError(t, err)
		_, after, _ := strings.Cut(info["Commandstats"]["cmdstat_waitaof"], "calls=")
		calls, _, _ := strings.Cut(after, ",")
		n, _ := strconv.Atoi(calls) // it is not there before the first call
		return n
	}
	require.Zero(t, waits())
	s := newSink(t, at(addr), redissink.Config{})
	require.NoError(t, s.Check(within(t, patience)))
	before := waits() // it was tried
	all := records("t", 40, 4)
	require.Equal(t, map[string]int{"ok": 40}, kinds(s.Send(within(t, patience), all)))
	require.Equal(t, before+1, waits())

	memory := newSink(t, at(addr), redissink.Config{Ack: redissink.AckMemory})
	require.Equal(t, map[string]int{"ok": 40}, kinds(memory.Send(within(t, patience), all)))

	// Nobody flushes now.
	require.NoError(t, client.ConfigSet(t.Context(), "appendfsync", "no").Err())
	results := s.Send(within(t, time.Second), all)
	require.Equal(t, map[string]int{"outage": 4, "not_sent": 36}, kinds(results))
	require.ErrorContains(t, results[0].Err, "they are not on disk yet")
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))
	require.Equal(t, int64(120), client.XLen(t.Context(), "t").Val(), "the server has them all the same")
	require.NoError(t, client.ConfigSet(t.Context(), "appendfsync", "everysec").Err())
	require.Equal(t, map[string]int{"ok": 40}, kinds(s.Send(within(t, patience), all)))
}

// TestSink_KilledServerThatSyncs is the suite's, with WAITAOF.
//
//leat:level 4
func TestSink_KilledServerThatSyncs(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts servers")
	sinktest.RunKill(t, features(), func(t *testing.T) sinktest.Killer {
		t.Helper()
		server := testenv.PrivateValkey(t, everySecond())
		return killable{newStreams(t, server.Addr, "k", redissink.Config{}), server}
	})
}
