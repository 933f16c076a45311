package roles

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/outbox"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watching returns a watch and the buffer that its reports go to.
func watching() (*watch, *bytes.Buffer) {
	var out bytes.Buffer
	return newWatch(&reporter{out: json.NewEncoder(&out)}), &out
}

func reports(t *testing.T, out *bytes.Buffer) []Report {
	t.Helper()
	var all []Report
	for decoder := json.NewDecoder(out); decoder.More(); {
		var r Report
		require.NoError(t, decoder.Decode(&r))
		all = append(all, r)
	}
	return all
}

// TestWatch_EachFaultHasAConsequenceOfItsOwn: each observed consequence is assigned to one fault, the
// oldest without one.
func TestWatch_EachFaultHasAConsequenceOfItsOwn(t *testing.T) {
	t.Parallel()
	w, out := watching()
	w.seen("nothing was done")
	for fault := range 4 {
		w.begin(fault + 1)
	}
	w.forget(2)
	for _, what := range []string{"first", "second"} {
		w.seen(what)
	}
	w.begin(5)
	w.seen("third")
	require.Equal(t, []Report{
		{Said: SaidSeen, Fault: 1, Consequence: "first"},
		{Said: SaidSeen, Fault: 3, Consequence: "second"},
		{Said: SaidSeen, Fault: 4, Consequence: "third"},
	}, reports(t, out))
}

func TestWatch_GivesUpTheOldest(t *testing.T) {
	t.Parallel()
	w, out := watching()
	for fault := range maxOpen + 1 {
		w.begin(fault)
	}
	w.seen("something")
	require.Equal(t, 1, reports(t, out)[0].Fault)
}

// TestArm_CancelEndsTheContextOfTheRole: the context of the role ends, and the point itself returns no
// error.
func TestArm_CancelEndsTheContextOfTheRole(t *testing.T) {
	t.Parallel()
	w, out := watching()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p := &process{points: &failpointtest.Registry{}, reports: w.reports, watch: w, stop: stop}
	p.arm(Command{Do: DoArm, Fault: 7, Point: string(failpoint.RelayAfterFetch), Kind: KindCancel})
	require.NoError(t, ctx.Err())
	require.NoError(t, failpoint.Inject(failpointtest.With(ctx, p.points), failpoint.RelayAfterFetch))
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.Equal(t, []Report{{Said: SaidFired, Fault: 7, Inflight: 1}}, reports(t, out))
}

func TestConnections_CutsAll(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	c := newConnections()
	for range 3 {
		conn, err := c.dial(t.Context(), "tcp", listener.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
	}
	require.Len(t, c.live, 3)
	one := func() net.Conn {
		for conn := range c.live {
			return conn
		}
		return nil
	}()
	require.NoError(t, one.Close())
	require.Len(t, c.live, 2)
	last := func() net.Conn {
		for conn := range c.live {
			return conn
		}
		return nil
	}()
	c.cut()
	require.Empty(t, c.live)
	_, err = last.Write([]byte("x"))
	require.ErrorIs(t, err, net.ErrClosed)
}

// TestDraw_MakesEveryKind: the kinds are drawn in about the shares that the run needs.
func TestDraw_MakesEveryKind(t *testing.T) {
	t.Parallel()
	r, kinds := rand.New(rand.NewPCG(1, 2)), map[string]int{}
	const n, accounts = 20_000, 7
	for range n {
		e, err := draw(r, accounts, odd{})
		require.NoError(t, err)
		kinds[e.Kind]++
		m, err := e.message()
		require.NoError(t, err)
		switch e.Kind {
		case kindTransfer:
			require.NotEqual(t, e.From, e.To)
			require.Positive(t, e.Amount)
			require.Equal(t, TopicTransfers, m.Topic)
		case kindNotice:
			require.Equal(t, TopicNotices, m.Topic)
		case kindHuge:
			require.Greater(t, len(m.Payload), MaxMessageBytes)
		}
		if e.Kind != kindTransfer { // no money moves
			require.Zero(t, e.Amount)
			require.Empty(t, e.To)
		}
	}
	require.InDelta(t, n/500, kinds[kindPoison], n/1000)
	require.InDelta(t, n/500, kinds[kindHuge], n/1000)
	require.InDelta(t, n/10, kinds[kindNotice], n/50)
}

func TestSettings_TravelInTheEnvironment(t *testing.T) {
	want := Settings{Name: "bank-1", Role: Bank, Brokers: []string{"a:1"}, Rate: 7}
	entry, err := want.Environment()
	require.NoError(t, err)
	t.Setenv(envSettings, entry[len(envSettings)+1:])
	got, ok, err := FromEnvironment()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, want, got)
	t.Setenv(envSettings, "{")
	_, _, err = FromEnvironment()
	require.ErrorContains(t, err, envSettings)
}

// TestDrawExtra_MakesWhatTheDriverAsksFor: extra messages move no money, and each has its own key.
func TestDrawExtra_MakesWhatTheDriverAsksFor(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]struct {
		topic    string
		id, size int // at least
	}{
		KindAstray:         {topic: TopicAstray(7)},
		KindLarge:          {topic: TopicLarge, size: largeBytes},
		KindTooLarge:       {topic: TopicTransfers, size: largeBytes},
		KindLongID:         {topic: TopicNotices, id: longIDBytes},
		KindLongIDTooLarge: {topic: TopicTransfers, id: longIDBytes, size: largeBytes},
		KindLongIDPoison:   {topic: TopicTransfers, id: longIDBytes},
		KindHostile:        {topic: TopicTransfers},
		KindTextTime:       {topic: TopicTransfers},
	} {
		e, err := drawExtra(kind, 7)
		require.NoError(t, err)
		m, err := e.message()
		require.NoError(t, err)
		require.Equal(t, want.topic, m.Topic, kind)
		require.GreaterOrEqual(t, len(m.ID), want.id, kind)
		require.GreaterOrEqual(t, len(m.Payload), want.size, kind)
		require.LessOrEqual(t, len(m.Payload), outbox.DefaultMaxPayloadBytes, kind)
		require.Equal(t, KeyOf(kind)+"7", m.Key, kind)
		require.Empty(t, e.To, kind)
		require.Zero(t, e.Amount, kind)
	}
	_, err := drawExtra("nothing", 0)
	require.ErrorContains(t, err, "nothing")
}
