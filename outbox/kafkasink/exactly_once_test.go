package kafkasink_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// TestR12_StormOfKills kills relay processes with SIGKILL at whatever moment while
// messages are written. Only a kill that found something under way counts.
//
//leat:level 4
func TestR12_StormOfKills(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.write(400)
	relays := []*process{s.spawn(), s.spawn()}
	for kills := 0; kills < 4; {
		var leader int
		select {
		case <-relays[0].leading:
			leader = 0
		case <-relays[1].leading:
			leader = 1
		}
		from := s.appended()
		s.write(400)
		s.await(from + int64(37*(kills+1)))
		relays[leader].kill()
		unsettled := s.written.Load() - s.settled()
		if unsettled > 0 {
			kills++
		}
		t.Logf("killed with %d messages unsettled, %d offsets appended", unsettled, s.appended())
		relays[leader] = s.spawn()
	}
	for _, p := range relays {
		p.kill()
	}
	s.finish()
	require.Equal(t, verdict{}, s.audit())
}

// TestR12_LostEndTxnAnswers loses answers of the broker to the request to commit,
// and sometimes the request.
func TestR12_LostEndTxnAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	cut := &severer{every: 3}
	s.write(400)
	stop := s.start(s.sink(cut.opts()...))
	s.awaitCommitted(400)
	stop()
	require.Positive(t, cut.cut.Load())
	t.Logf("%d answers lost", cut.cut.Load())
	require.Equal(t, verdict{}, s.audit())
}

// TestR12_BrokerIsKilled kills the broker with SIGKILL in the middle of it all,
// and starts it again.
//
//leat:level 4
func TestR12_BrokerIsKilled(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a broker of its own")
	server := testenv.PrivateKafka(t)
	s := &stage{t: t, brokers: server.Brokers, prefix: "leat-test-", topics: []string{"orders", "mail"}, calm: true}
	s.createTopics()
	s.open()
	s.write(200)
	stop := s.start(s.sink())
	for range 2 {
		from := s.settled()
		s.write(300)
		s.awaitSettled(from + 50)
		server.Kill()
		server.Start()
	}
	s.write(100)
	s.awaitCommitted(int(s.written.Load()))
	stop()
	v := s.audit()
	server.Kill() // an orderly end takes long
	require.Equal(t, verdict{}, v)
}

// TestR12_PoisonBlocksItsSlot: what comes before a record that Kafka does not take
// is committed, and the slot stays at the record until it is taken.
func TestR12_PoisonBlocksItsSlot(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.limit(hugeBytes / 2)
	s.write(31)
	s.writeHuge()
	s.write(20)
	hook := &errorsSeen{}
	stop := s.start(s.sink(), hook)
	s.awaitSettled(31)
	require.Eventually(t, func() bool { return hook.count("send") >= 3 }, patience, 10*time.Millisecond)
	require.EqualValues(t, 31, s.settled())
	require.Len(t, readCommittedNow(t, s.brokers, s.topics...), 31)
	s.limit(2 * hugeBytes)
	s.awaitSettled(52)
	stop()
	require.Equal(t, verdict{}, s.audit())
	require.Zero(t, hook.count("fence"))
}
